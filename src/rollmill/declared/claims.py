"""Claims: what the pipeline file says that a source holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rollmill.declared.comparison import Comparison, Declarer
from rollmill.declared.held import Held
from rollmill.sources.splits import DEFAULT_CONFIG

CLAIMED: Final = "the pipeline file"


def compare_claims(held: Held) -> Iterator[Comparison]:
    """Compare each claim of a source: a split or column that is not there is missing."""
    claims, user = held.ingested.source.claims, Declarer(held.snapshot.name, CLAIMED)
    counts = {"rows": sum(held.rows.values()), "rollouts": held.plan.rollouts, "splits": len(held.rows)}
    for name, count in counts.items():
        claimed = getattr(claims, name)
        if claimed is not None:
            yield user.compare(f"claims.{name}", claimed, count, "records" if name == "rows" else name)
    rows = {
        split if config == DEFAULT_CONFIG else f"{config}/{split}": count
        for (config, split), count in held.rows.items()
    }
    for split, count in claims.rows_by_split.items():
        yield user.compare(f"claims.rows_by_split.{split}", count, rows.get(split), "records")
    there = {name for schema in held.plan.schemas.values() for name in schema.names}
    for column in claims.columns:
        yield user.compare(f"claims.columns.{column}", column, column if column in there else None, "columns")
