"""Quarantine files: whole source records that were put aside, with the reasons, for people and for restoring."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from rollmill.formats.records import Reject
from rollmill.promotion import conform
from rollmill.shards import ShardWriter
from rollmill.store import Payload
from rollmill.units import Part


def quarantine_schema(source: pa.Schema) -> pa.Schema:
    """Schema of a quarantine file for a unit's source schema.

    `source_digest`, `source_ordinal` and `source_row` say which record; `reason` is the first reason that applies,
    `reasons` are all. `row` holds the source's columns; it is null where the record could not be read, and then `raw`
    holds its bytes (`raw_kind`: line or arrow_ipc) and `detail` where and what is wrong.
    """
    fields = [
        pa.field("source_digest", pa.string(), nullable=False),
        pa.field("source_ordinal", pa.int32(), nullable=False),
        pa.field("source_row", pa.int64(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("reasons", pa.list_(pa.string()), nullable=False),
        pa.field("detail", pa.string()),
        pa.field("raw", pa.binary()),
        pa.field("raw_kind", pa.string()),
    ]
    return pa.schema([*fields, pa.field("row", pa.struct(list(source)))] if len(source) else fields)


def row_table(
    part: Part,
    batch: pa.RecordBatch,
    rows: Sequence[int],
    reasons: Sequence[Sequence[str]],
    source: pa.Schema,
) -> pa.Table:
    """Make the table of readable source rows; `reasons` has the reasons of each, the first counts."""
    table = conform(pa.Table.from_batches([batch]), source, file=part.file.path).combine_chunks()
    columns = [column.combine_chunks() for column in table.columns]
    values = pa.StructArray.from_arrays(columns, fields=list(source))
    return _table(part, rows, reasons, {"row": values}, source)


def reject_table(part: Part, rejects: Sequence[Reject], source: pa.Schema) -> pa.Table:
    """Make the table of records that could not be read."""
    more = {
        "detail": pa.array([r.detail for r in rejects], pa.string()),
        "raw": pa.array([r.raw for r in rejects], pa.binary()),
        "raw_kind": pa.array([r.raw_kind for r in rejects], pa.string()),
    }
    return _table(part, [r.row for r in rejects], [[r.reason] for r in rejects], more, source)


def _table(
    part: Part,
    rows: Sequence[int],
    reasons: Sequence[Sequence[str]],
    more: dict[str, pa.Array[pa.Scalar]],
    source: pa.Schema,
) -> pa.Table:
    count = len(rows)
    given = {
        "source_digest": pa.repeat(pa.scalar(part.file.sha256), count),
        "source_ordinal": pa.repeat(pa.scalar(part.file.ordinal, pa.int32()), count),
        "source_row": pa.array(rows, pa.int64()),
        "reason": pa.array([r[0] for r in reasons], pa.string()),
        "reasons": pa.array([list(r) for r in reasons], pa.list_(pa.string())),
    } | more
    schema = quarantine_schema(source)
    arrays = [given[f.name] if f.name in given else _nulls(count, f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


class QuarantineWriter:
    """Writes the quarantine file of one unit."""

    def __init__(self, path: Path, source: pa.Schema) -> None:
        self._source = source
        self._writer = ShardWriter(path, quarantine_schema(source))

    def add_rows(
        self, part: Part, batch: pa.RecordBatch, rows: Sequence[int], reasons: Sequence[Sequence[str]]
    ) -> None:
        """Add readable source rows (see `row_table`)."""
        self._writer.write(row_table(part, batch, rows, reasons, self._source))

    def add_rejects(self, part: Part, rejects: Sequence[Reject]) -> None:
        """Add records that could not be read."""
        self._writer.write(reject_table(part, rejects, self._source))

    def close(self, name: str) -> Payload:
        """Finish the file."""
        return self._writer.close(name)


def _nulls(count: int, kind: pa.DataType) -> pa.Array[pa.Scalar]:
    """Make nulls; below a null struct stand values, as parquet takes no null for a member that is never null."""
    return pa.array([None] * count, kind)
