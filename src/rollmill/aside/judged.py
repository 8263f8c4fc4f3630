"""What a run would put aside, from verdicts and source files: also of runs that were refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl
import pyarrow as pa

from rollmill.aside.index import INDEX, PLACE
from rollmill.aside.published import placed
from rollmill.plan import Plan, UnitPlan
from rollmill.quarantine import reject_table, row_table
from rollmill.reading import DigestOf, PartRecords, UnitReader
from rollmill.store import FolderStore
from rollmill.units import Part
from rollmill.verdicts import STAGE, bad_rows


class JudgedAside:
    """The records that verdicts put aside, kept ones left out. `origin` is the part of a unit, `at` the record.

    `unjudged` counts units that were not validated yet.
    """

    def __init__(self, plan: Plan, store: FolderStore, digest: DigestOf) -> None:
        self._digest = digest
        self._parts: list[tuple[UnitPlan, Part]] = []
        self.unjudged = 0
        lines = [frame for unit in plan.units for frame in self._lines(unit, store)]
        self.index = pl.concat(lines) if lines else pl.DataFrame(schema=INDEX)

    def schemas(self) -> Iterator[tuple[str, pa.Schema]]:
        """See `Aside`."""
        for unit, part in self._parts:
            yield part.file.path, unit.schema

    def records(self, chosen: pl.DataFrame) -> Iterator[pa.Table]:
        """See `Aside`. Reads no further in a file than its last record that is asked for."""
        for (origin,), lines in chosen.group_by("origin", maintain_order=True):
            yield from self._read(*self._parts[int(str(origin))], lines)

    def _lines(self, plan: UnitPlan, store: FolderStore) -> Iterator[pl.DataFrame]:
        manifest = store.get(STAGE, plan.validate_key)
        if manifest is None:
            self.unjudged += 1
            return
        bad = bad_rows(store, manifest).filter(pl.col("reasons").list.set_difference(list(plan.keep)).list.len() > 0)
        for (number,), rows in bad.sort("part", "row").group_by("part", maintain_order=True):
            part = plan.unit.parts[int(str(number))]
            place = (plan.unit.source, plan.unit.config, plan.unit.split, part.file.path)
            yield _frame(place, rows, len(self._parts))
            self._parts.append((plan, part))

    def _read(self, plan: UnitPlan, part: Part, lines: pl.DataFrame) -> Iterator[pa.Table]:
        last = lines["record"].max()
        for batch in UnitReader(replace(plan.unit, parts=(part,)), plan.inspections, self._digest):
            for table in _taken(plan, batch, lines):
                here = table.select(["source_row"]).rename_columns(["record"])
                order = pl.DataFrame(pl.from_arrow(here)).join(lines, on="record", how="left", maintain_order="left")
                yield placed(table, order)
            if last is not None and _reached(batch) >= last:  # type: ignore[operator]
                return


def _frame(place: tuple[str, str, str, str], rows: pl.DataFrame, origin: int) -> pl.DataFrame:
    return rows.select(
        *(pl.lit(value).alias(name) for name, value in zip(PLACE, place, strict=True)),
        pl.col("row").alias("record"),
        pl.col("reasons").list.first().alias("reason"),
        "reasons",
        pl.lit(origin).cast(pl.Int64).alias("origin"),
        pl.col("row").alias("at"),
    )


def _taken(plan: UnitPlan, batch: PartRecords, lines: pl.DataFrame) -> Iterator[pa.Table]:
    records = batch.records
    numbers = pl.Series("record", pl.from_arrow(records.rows), dtype=pl.Int64)
    mine = numbers.is_in(lines["record"].implode())
    if mine.any():
        rows = numbers.filter(mine).to_list()
        reasons = lines.filter(lines["record"].is_in(rows)).sort("record")["reasons"].to_list()
        yield row_table(batch.part, records.data.filter(mine.to_arrow()), rows, reasons, plan.schema)
    wanted = set(lines["record"]) if records.rejects else set[int]()
    if rejects := [reject for reject in records.rejects if reject.row in wanted]:
        yield reject_table(batch.part, rejects, plan.schema)


def _reached(batch: PartRecords) -> int:
    numbers = batch.records.rows
    last = numbers[-1].as_py() if len(numbers) else -1
    return max([last, *(reject.row for reject in batch.records.rejects)])
