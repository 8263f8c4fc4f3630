"""Judge one unit by its layout's suite: the validate stage for one piece of work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from rollmill.errors import DataRefusedError
from rollmill.expectations.judgement import Judgement, joined_results
from rollmill.expectations.steps import step_faults
from rollmill.expectations.stream import Frames, FrameStream
from rollmill.expectations.suites import Suite, suite_for
from rollmill.expectations.suites.act_prm import STEP_ORDER
from rollmill.layouts import RolloutLayout
from rollmill.normalize import UnitWork
from rollmill.plan import UnitPlan, judged_schema
from rollmill.promotion import conform
from rollmill.reading import DigestOf, UnitReader
from rollmill.store import FolderStore, Manifest
from rollmill.verdicts import STAGE, Verdict

_OF_ALL_COLUMNS: Final = "expect_table_column"
"""How expectations begin that are about which columns there are."""


@dataclass
class _Span:
    """Consecutive records of the stream that come from one part."""

    part: int
    rows: np.ndarray[tuple[int], np.dtype[np.int64]]


class UnitFrames(FrameStream):
    """A unit as a stream of frames: the columns its suite names, as promoted over the unit's files.

    Notes on the way which record each position of the stream is, and which records could not be read.
    """

    def __init__(self, plan: UnitPlan, suite: Suite, reader: UnitReader) -> None:
        own = [column for column in judged_schema(plan.layout, plan.schema) if column.name not in plan.lent.names]
        whole = pa.schema([*own, *plan.lent])
        self._members = {name: name.split(".", 1) for name in suite.columns if name not in whole.names and "." in name}
        named = (suite.columns - self._members.keys()) | {column for column, _ in self._members.values()}
        if any(check.type.startswith(_OF_ALL_COLUMNS) for check in suite.checks):
            named |= set(whole.names)
        self._arrow = pa.schema([field for field in whole if field.name in named])
        self._reader = reader
        self._plan = plan
        self.steps: list[pl.DataFrame] = []
        self.schema = self._frame(self._arrow.empty_table()).schema
        self.spans: list[_Span] = []
        self.verdict = Verdict()
        self.failure: Exception | None = None

    def __iter__(self) -> Iterator[pl.DataFrame]:
        self.spans, self.steps, self.verdict = [], [], Verdict()
        try:
            yield from self._frames()
        except Exception as error:
            self.failure = error
            raise

    def _frames(self) -> Iterator[pl.DataFrame]:
        for batch in self._reader:
            records, part = batch.records, batch.part_index
            self.verdict.read[part] = self.verdict.read.get(part, 0) + len(records.rows) + len(records.rejects)
            for reject in records.rejects:
                self.verdict.bad.setdefault(part, {})[reject.row] = (reject.reason,)
            self.verdict.arrow_bytes += records.data.nbytes
            if len(records.rows):
                self.spans.append(_Span(part, records.rows.to_numpy()))
                layout = self._plan.layout
                if isinstance(layout, RolloutLayout):
                    self.steps.append(layout.sequence(records.data, self._plan.options))
                table = conform(pa.Table.from_batches([records.data]), self._arrow, file=batch.part.file.path)
                yield self._frame(table)

    def _frame(self, table: pa.Table) -> pl.DataFrame:
        """Give a table as a frame; a name with a dot is a member of a struct column."""
        for name, (column, member) in self._members.items():
            table = table.append_column(name, _member(table.column(column), member))
        return pl.DataFrame(pl.from_arrow(table.drop_columns(list({column for column, _ in self._members.values()}))))

    def put_aside(self, bad: pl.DataFrame) -> None:
        """Add the records a suite found bad (`Judgement.bad`) to the verdict."""
        if not self.spans or not len(bad):
            return
        parts = np.concatenate([np.full(len(span.rows), span.part) for span in self.spans])
        rows = np.concatenate([span.rows for span in self.spans])
        for position, reasons in zip(bad["row"].to_list(), bad["reasons"].to_list(), strict=True):
            self.verdict.bad.setdefault(int(parts[position]), {})[int(rows[position])] = tuple(reasons)


def validate_unit(plan: UnitPlan, store: FolderStore, digest: DigestOf) -> UnitWork:
    """Judge a unit, or find it judged. Raises FileRefusedError or DataRefusedError."""
    known = store.get(STAGE, plan.validate_key)
    if known is not None:
        return UnitWork(known, cached=True, bytes_read=0)
    suite = suite_for(plan.layout.name, judged_schema(plan.layout, plan.schema), plan.own)
    reader = UnitReader(plan.unit, plan.inspections, digest)
    frames = UnitFrames(plan, suite, reader)
    judgement = _judge(frames, suite, plan.unit.name)
    findings, bad, result = list(judgement.findings), judgement.bad, judgement.result
    if frames.steps:
        order = _judge_order(frames, plan.unit.name)
        findings += order.findings
        result = joined_results(result, order.result)
        bad = whole_rollouts(pl.concat(frames.steps), [bad, order.bad])
    frames.put_aside(bad)
    verdict = frames.verdict
    verdict.findings = [asdict(finding) for finding in findings]
    verdict.result = result
    with store.scratch() as folder:
        path = folder / "bad_rows.parquet"
        payload = verdict.write(path)
        payloads = (payload,) if payload else ()
        manifest = Manifest(STAGE, plan.validate_key, payloads, facts=verdict.facts())
        stands = store.put(manifest, {p.name: path for p in payloads})
    return UnitWork(stands, cached=False, bytes_read=reader.bytes_read)


def _judge(frames: UnitFrames, suite: Suite, name: str) -> Judgement:
    """Judge, and let what went wrong with reading be heard: Great Expectations keeps it to itself."""
    from rollmill.expectations.validate import validate_stream

    try:
        return validate_stream(frames, suite, name=name)
    except DataRefusedError:
        if frames.failure is not None:
            raise frames.failure from None
        raise


def _judge_order(frames: UnitFrames, name: str) -> Judgement:
    """Judge the order of the steps of whole rollouts."""
    from rollmill.expectations.validate import validate_stream

    faults = step_faults(pl.concat(frames.steps))
    return validate_stream(Frames(faults.schema, [faults]), STEP_ORDER, name=name)


def whole_rollouts(steps: pl.DataFrame, bad: list[pl.DataFrame]) -> pl.DataFrame:
    """Put a rollout aside whole if one of its rows is bad. A row's own reasons come first, then those of the others."""
    found = pl.concat(bad).sort("row", maintain_order=True)
    if not found.height:
        return found
    rollouts = steps.select("rollout").with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    reasons = found.explode("reasons").join(rollouts, on="row").group_by("rollout", maintain_order=True)
    shared = reasons.agg(pl.col("reasons").unique(maintain_order=True).alias("shared"))
    own = found.explode("reasons").group_by("row", maintain_order=True).agg(pl.col("reasons").alias("own"))
    both = rollouts.join(shared, on="rollout").join(own, on="row", how="left").sort("row")
    listed = pl.concat_list(pl.col("own").fill_null([]), "shared").list.unique(maintain_order=True)
    return both.select("row", listed.list.first().alias("reason"), listed.alias("reasons"))


def _member(column: pa.ChunkedArray[Any], name: str) -> pa.ChunkedArray[Any]:
    """Give a member of a struct column; nulls where the column is null or has no such member."""
    kind = column.type
    if pa.types.is_struct(kind) and kind.get_field_index(name) >= 0:
        return pc.struct_field(column, name)
    return pa.chunked_array([pa.nulls(len(column), pa.string())])
