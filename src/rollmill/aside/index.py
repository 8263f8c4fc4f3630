"""The index of what was put aside: a line per record, without its text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

import polars as pl
import pyarrow as pa

from rollmill.errors import ConfigError

PLACE: Final = ("source", "config", "split", "file")
INDEX: Final = pl.Schema(
    {
        **dict.fromkeys(PLACE, pl.String()),
        "record": pl.Int64(),
        "reason": pl.String(),
        "reasons": pl.List(pl.String()),
        "origin": pl.Int64(),
        "at": pl.Int64(),
    }
)
"""`file` is the path as the source lists it, `record` the 0-based number in it, `reason` the first of `reasons`.

`origin` and `at` say where the whole record is: a thing of whoever made the index.
"""


class Aside(Protocol):
    """Records that were put aside, and the way to their content."""

    index: pl.DataFrame
    """One line per record, in source order, with the columns of `INDEX`."""

    def schemas(self) -> Iterator[tuple[str, pa.Schema]]:
        """Give the source columns of the records, by the name of what has them."""
        ...

    def records(self, chosen: pl.DataFrame) -> Iterator[pa.Table]:
        """Read the records of lines of the index, a bounded number at a time.

        Tables have the columns of a quarantine file (`quarantine.quarantine_schema`) and those of `PLACE`.
        """
        ...


@dataclass(frozen=True)
class Selection:
    """Which records are meant; None for any. A record has a `reason` if it is one of its reasons."""

    source: str | None = None
    config: str | None = None
    split: str | None = None
    reason: str | None = None

    def of(self, index: pl.DataFrame) -> pl.DataFrame:
        """Give the lines meant. Raises ConfigError for a name that no line has, if there are lines at all."""
        chosen = index
        for column, wanted in (("source", self.source), ("config", self.config), ("split", self.split)):
            if wanted is not None:
                chosen = _known(chosen, chosen[column] == wanted, chosen[column], column, wanted)
        if self.reason is not None:
            has = chosen["reasons"].list.contains(self.reason)
            chosen = _known(chosen, has, chosen["reasons"].explode(), "reason", self.reason)
        return chosen


def _known(index: pl.DataFrame, mask: pl.Series, names: pl.Series, column: str, wanted: str) -> pl.DataFrame:
    if index.height and not mask.any():
        known = ", ".join(names.unique().sort().drop_nulls().to_list())
        raise ConfigError(f"No record of the {column} {wanted!r} was put aside. There are records of: {known}.")
    return index.filter(mask)


def counts(index: pl.DataFrame) -> pl.DataFrame:
    """Count records by place and first reason, in source order: the columns of `PLACE`, reason, records."""
    return index.group_by(*PLACE, "reason", maintain_order=True).agg(pl.len().cast(pl.Int64).alias("records"))
