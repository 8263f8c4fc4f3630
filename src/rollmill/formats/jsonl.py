"""JSON lines: one streaming pass tells the column types, a second one yields batches of exactly those."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from rollmill.errors import FileRefusedError
from rollmill.formats import json_shape, lines
from rollmill.formats.json_columns import MAX_COLUMNS, SchemaScan, cell_of
from rollmill.formats.json_values import LineFault, parse_line
from rollmill.formats.lines import Line, TextFile
from rollmill.formats.records import Inspection, Records, Reject, RowGroup
from rollmill.formats.sniff import refuse_non_data

_BATCH_ROWS = 1 << 16
_SNIFFED_INSIDE = 4096


def inspect(path: Path, name: str, compression: str | None) -> Inspection:
    """Read a whole file once for its record count and column types.

    Counts: surrogates_replaced (cells), bom_stripped (0 or 1; absent when 0). Raises FileRefusedError for a
    truncated or damaged stream, another JSON shape, or more than 10,000 different keys.
    """
    scan = SchemaScan()
    shape = json_shape.ShapeWatch(name)
    rows = size = surrogates = 0
    with TextFile(path, name, compression) as file:
        head = file.head(_SNIFFED_INSIDE)
        if compression is not None:
            refuse_non_data(head, name, inside=compression)
        for line in file.lines():
            rows += 1
            size += line.size
            try:
                row, replaced = _parse(line)
            except LineFault:
                shape.fault(line, path, compression)
                continue
            shape.record(row)
            scan.add(row)
            surrogates += replaced
            if scan.width > MAX_COLUMNS:
                raise _too_wide(name, rows)
        shape.end(rows)
        counts = Counter(surrogates_replaced=surrogates, bom_stripped=int(file.bom_stripped))
    return Inspection(
        "jsonl",
        compression,
        rows,
        scan.schema(),
        (RowGroup(rows, size),),
        dict(+counts),
        bytes_read=path.stat().st_size,
    )


class JsonlReader:
    """Iterates over the batches of a JSON lines file that has been inspected."""

    def __init__(self, path: Path, name: str, inspection: Inspection, batch_bytes: int) -> None:
        self.bytes_read = 0
        self._path = path
        self._name = name
        self._inspection = inspection
        self._batch_bytes = batch_bytes

    def __iter__(self) -> Iterator[Records]:
        """Read the file from its start."""
        before = self.bytes_read
        row = 0
        with TextFile(self._path, self._name, self._inspection.compression) as file:
            batch = _Batch(self._inspection.schema, self._name)
            for row, line in enumerate(file.lines(), start=1):
                if batch.size and (batch.size + line.size > self._batch_bytes or batch.length >= _BATCH_ROWS):
                    self.bytes_read = before + file.bytes_read
                    yield batch.take()
                batch.add(row - 1, line)
            self.bytes_read = before + file.bytes_read
        if batch.size:
            yield batch.take()
        if row != self._inspection.rows:
            raise _changed(self._name)


class _Batch:
    """Gathers parsed records column by column."""

    def __init__(self, schema: pa.Schema, name: str) -> None:
        self._schema = schema
        self._file = name
        self._names = frozenset(schema.names)
        self._cell_of = [(field.name, cell_of(field)) for field in schema]
        self._clear()

    def _clear(self) -> None:
        self.size = 0
        self._rows: list[int] = []
        self._cells: list[list[Any]] = [[] for _ in self._schema]
        self._rejects: list[Reject] = []

    @property
    def length(self) -> int:
        """How many records are held, rejected ones included."""
        return len(self._rows) + len(self._rejects)

    def add(self, row: int, line: Line) -> None:
        """Parse a line, the file's record number `row`, into cells or a reject."""
        self.size += line.size
        try:
            record, _ = _parse(line)
        except LineFault as fault:
            self._rejects.append(_reject(row, line, fault))
            return
        if not record.keys() <= self._names:
            raise _changed(self._file)
        try:
            for (name, convert), cells in zip(self._cell_of, self._cells, strict=True):
                value = record.get(name)
                cells.append(value if convert is None or value is None else convert(value))
        except (TypeError, ValueError) as error:
            raise _changed(self._file) from error
        self._rows.append(row)

    def take(self) -> Records:
        """Give the records held, and start anew."""
        try:
            arrays = [pa.array(cells, field.type) for cells, field in zip(self._cells, self._schema, strict=True)]
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise _changed(self._file) from error
        data = _record_batch(arrays, self._schema, len(self._rows))
        records = Records(pa.array(self._rows, pa.int64()), data, tuple(self._rejects))
        self._clear()
        return records


def _record_batch(arrays: list[pa.Array[Any]], schema: pa.Schema, rows: int) -> pa.RecordBatch:
    if arrays:
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
    return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))


def _parse(line: Line) -> tuple[dict[str, Any], int]:
    if not line.whole:
        raise LineFault(
            "bad_json",
            f"the line has {line.size} bytes, more than the ceiling of {lines.LINE_CEILING};"
            f" only its first {len(line.data)} bytes are kept",
        )
    return parse_line(line.data)


def _reject(row: int, line: Line, fault: LineFault) -> Reject:
    detail = f"line {line.number} (byte offset {line.offset}): {fault.what}"
    return Reject(row, fault.reason, bytes(line.data), "line", detail)


def _changed(name: str) -> FileRefusedError:
    return FileRefusedError(
        f"{name} was changed while reading: it no longer holds the records it held at first."
        " Run again when nothing writes to it.",
        file=name,
    )


def _too_wide(name: str, rows: int) -> FileRefusedError:
    return FileRefusedError(
        f"{name} has more than {MAX_COLUMNS} different keys in its first {rows} records: they are data, not columns."
        " Put them into a list or a nested object and export the file again.",
        file=name,
        row=rows - 1,
    )
