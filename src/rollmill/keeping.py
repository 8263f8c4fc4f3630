"""Records that are published although they are bad, because their reasons are kept: each row says so."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import polars as pl
import pyarrow as pa

from rollmill.reasons import is_kept
from rollmill.schema import SCHEMA
from rollmill.verdicts import Verdict

PREFIX: Final = "kept:"
"""What stands before the reason code in quality_flags."""


class KeptFlags:
    """The flags of a unit's kept records."""

    def __init__(self, verdict: Verdict, keep: Collection[str]) -> None:
        self._parts = {
            part: {
                row: [PREFIX + reason for reason in reasons] for row, reasons in rows.items() if is_kept(reasons, keep)
            }
            for part, rows in verdict.bad.items()
            if keep
        }

    def added(self, table: pa.Table, part: int) -> pa.Table:
        """Add to the quality_flags of unified rows that come from kept records of one part, sorted with the others."""
        kept = self._parts.get(part)
        if not kept:
            return table
        columns = pl.DataFrame(pl.from_arrow(table.select(["source_row", "quality_flags"])))
        flags = pl.DataFrame({"source_row": list(kept), "kept": list(kept.values())}, schema=_FLAGS)
        both = columns.join(flags, on="source_row", how="left", maintain_order="left")
        merged = pl.concat_list("quality_flags", pl.col("kept").fill_null([])).list.sort()
        at = table.schema.get_field_index("quality_flags")
        field = SCHEMA.field(at)
        return table.set_column(at, field, both.select(merged).to_series().to_arrow().cast(field.type))


_FLAGS: Final = pl.Schema({"source_row": pl.Int64(), "kept": pl.List(pl.String())})
