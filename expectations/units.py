"""Judge one unit by its layout's suite: the validate stage for one piece of work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from rollmill.errors import DataRefusedError
from rollmill.expectations.judgement import Judgement
from rollmill.expectations.stream import FrameStream
from rollmill.expectations.suites import Suite, suite_for
from rollmill.normalize import UnitWork
from rollmill.plan import UnitPlan, judged_schema
from rollmill.promotion import conform
from rollmill.reading import DigestOf, UnitReader
from rollmill.store import FolderStore, Manifest
from rollmill.verdicts import STAGE, Verdict


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
        named = _columns(suite)
        self._arrow = pa.schema([field for field in judged_schema(plan.layout, plan.schema) if field.name in named])
        self._reader = reader
        self.schema = pl.Schema(pl.from_arrow(self._arrow.empty_table()).schema)  # type: ignore[union-attr]
        self.spans: list[_Span] = []
        self.verdict = Verdict()
        self.failure: Exception | None = None

    def __iter__(self) -> Iterator[pl.DataFrame]:
        self.spans, self.verdict = [], Verdict()
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
            if len(records.rows):
                self.spans.append(_Span(part, records.rows.to_numpy()))
                table = conform(pa.Table.from_batches([records.data]), self._arrow, file=batch.part.file.path)
                yield pl.DataFrame(pl.from_arrow(table))

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
    suite = suite_for(plan.layout.name, judged_schema(plan.layout, plan.schema))
    reader = UnitReader(plan.unit, plan.inspections, digest)
    frames = UnitFrames(plan, suite, reader)
    judgement = _judge(frames, suite, plan.unit.name)
    frames.put_aside(judgement.bad)
    verdict = frames.verdict
    verdict.findings = [asdict(finding) for finding in judgement.findings]
    verdict.result = judgement.result
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


def _columns(suite: Suite) -> set[str]:
    """Columns that the checks of a suite name."""
    named: set[str] = set()
    for check in suite.checks:
        if "column" in check.kwargs:
            named.add(check.kwargs["column"])
        named.update(check.kwargs.get("column_list", ()))
    return named
