"""Parquet: read row group by row group in bounded batches, with explicit logical types."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rollmill.errors import FileRefusedError
from rollmill.formats.logical import invalid_utf8_rows, logical_schema, to_logical
from rollmill.formats.records import Inspection, Records, Reject, RowGroup
from rollmill.formats.sniff import PARQUET_ENCRYPTED_MAGIC, PARQUET_MAGIC, unreadable

_TAIL_BYTES = 8
_SIGNATURE_BYTES = 28
"""Nonce and tag behind the plain footer of a file with encrypted columns: to look at such a column ends the process."""
_STREAMED_ABOVE = 256 << 20
"""Compressed bytes of a row group above which its columns are read through a buffer, not whole."""
_STREAM_BUFFER = 4 << 20
_PROBE_ROWS = 64
_PROBE_BUFFER = 256 << 10
_LONGEST_NOTE = 1 << 20
RECORD_CEILING = 256 << 20
"""Mean bytes of a row group's records, once unpacked, above which a file is refused."""

_DICTIONARY_BYTES = 4 << 20
"""Writers give up a dictionary above 1 to 2 MB: a larger column is mostly stored as it is."""


def inspect(path: Path, name: str) -> Inspection:
    """Read the footer: records, schema and row groups. No data page is opened.

    Raises FileRefusedError for a truncated, damaged or encrypted file, for a footer whose row counts do not add up, and
    for two columns of one name, or for records above `RECORD_CEILING`.
    """
    size, footer = _check_tail(path, name)
    with _open(path, name) as file:
        if footer - file.metadata.serialized_size == _SIGNATURE_BYTES:
            raise _encrypted(name)
        try:
            _check_extent(file.metadata, size, name)
            promised = file.metadata.num_rows
            schema = logical_schema(file.schema_arrow)
            groups = _groups(file.metadata)
            note = _note(file.schema_arrow)
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise _damaged(name, f"its footer can't be read ({_first_line(error)})") from error
    twice = [column for column, times in Counter(schema.names).items() if times > 1]
    if twice:
        raise FileRefusedError(
            f"{name} has several columns named {twice[0]!r}. Rename them and export the file again.",
            file=name,
            column=twice[0],
        )
    _check_records(groups, name)
    rows = sum(group.rows for group in groups)
    if rows != promised:
        raise _damaged(name, f"its footer promises {promised} rows, its row groups hold {rows}")
    return Inspection("parquet", None, rows, schema, groups, note=note, bytes_read=footer + _TAIL_BYTES)


class ParquetReader:
    """Iterates over the batches of the row groups [start, stop) of a parquet file that has been inspected.

    A batch never crosses row groups and holds about `batch_bytes` at most, but at least one row.
    """

    def __init__(
        self, path: Path, name: str, inspection: Inspection, start: int, stop: int, *, batch_bytes: int
    ) -> None:
        self.bytes_read = 0
        self._path = path
        self._name = name
        self._inspection = inspection
        self._range = range(start, stop)
        self._batch_bytes = batch_bytes

    def __iter__(self) -> Iterator[Records]:
        """Read from the start of the range."""
        largest = max((group.bytes for group in self._inspection.groups), default=0)
        with _open(self._path, self._name, buffer_size=_STREAM_BUFFER if largest > _STREAMED_ABOVE else 0) as file:
            self._check_same(file)
            self.bytes_read += file.metadata.serialized_size + _TAIL_BYTES
            row = sum(group.rows for group in self._inspection.groups[: self._range.start])
            for group in self._range:
                self.bytes_read += _stored_bytes(file.metadata.row_group(group))
                yield from self._read_group(file, group, row)
                row += self._inspection.groups[group].rows

    def _read_group(self, file: pq.ParquetFile, group: int, row: int) -> Iterator[Records]:
        end = row + self._inspection.groups[group].rows
        try:
            rows = self._batch_rows(file.metadata.row_group(group), group)
            for batch in file.iter_batches(rows, row_groups=[group]):
                for part in _cut(to_logical(batch, self._inspection.schema), self._batch_bytes):
                    yield _records(part, row)
                    row += part.num_rows
        except (pa.ArrowException, OSError) as error:
            raise _damaged(self._name, f"row group {group} can't be read ({_first_line(error)})", row) from error
        if row != end:
            raise _damaged(self._name, f"row group {group} holds other rows than the footer says", row)

    def _batch_rows(self, metadata: pq.RowGroupMetaData, group: int) -> int:
        """Say how many rows of a row group make a batch.

        Sizes in the footer are those of encoded values. Of columns that are small because a dictionary holds their
        text, the first rows are decoded to see how large they are in memory.
        """
        rows = metadata.num_rows
        per_row = metadata.total_byte_size / max(1, rows)
        columns = _dictionary_columns(metadata, self._batch_bytes)
        if rows > _PROBE_ROWS and columns:
            with _open(self._path, self._name, buffer_size=_PROBE_BUFFER) as file:
                probe = next(file.iter_batches(_PROBE_ROWS, row_groups=[group], columns=columns), None)
            per_row += probe.nbytes / _PROBE_ROWS if probe is not None else 0
        return max(1, int(min(rows, self._batch_bytes / max(1.0, per_row))))

    def _check_same(self, file: pq.ParquetFile) -> None:
        groups = self._inspection.groups
        metadata = file.metadata
        rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        if rows != [group.rows for group in groups] or not logical_schema(file.schema_arrow).equals(
            self._inspection.schema
        ):
            raise FileRefusedError(
                f"{self._name} was changed while reading: its footer differs from the one seen at first."
                " Run again when nothing writes to it.",
                file=self._name,
            )


def _open(path: Path, name: str, *, buffer_size: int = 0) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, pre_buffer=False, buffer_size=buffer_size)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, (PermissionError, FileNotFoundError)):
            raise unreadable(name, error) from error
        if "encrypt" in str(error).lower():
            raise _encrypted(name) from error
        raise _damaged(
            name, f"its footer can't be read, so it is truncated or damaged ({_first_line(error)})"
        ) from error


def _note(schema: pa.Schema) -> str | None:
    """Give what HF datasets noted of the features, if it is text of a sensible length."""
    note = (schema.metadata or {}).get(b"huggingface", b"")
    return note.decode("utf-8", "replace") if 0 < len(note) <= _LONGEST_NOTE else None


def _check_records(groups: tuple[RowGroup, ...], name: str) -> None:
    """Refuse a row group whose records can't be held in memory one by one, before any is unpacked."""
    row = 0
    for number, group in enumerate(groups):
        if group.bytes > RECORD_CEILING * max(1, group.rows):
            size = group.bytes // max(1, group.rows) >> 20
            raise FileRefusedError(
                f"{name}: the records of row group {number} have {size:,} MiB each once unpacked, above the ceiling "
                f"of {RECORD_CEILING >> 20} MiB. Check the export: no rollout is as long as that.",
                file=name,
                row=row,
            )
        row += group.rows


def _groups(metadata: pq.FileMetaData) -> tuple[RowGroup, ...]:
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return tuple(RowGroup(group.num_rows, group.total_byte_size) for group in groups)


def _check_tail(path: Path, name: str) -> tuple[int, int]:
    """Give the bytes of the file and of its footer."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            tail = file.read()
    except OSError as error:
        raise unreadable(name, error) from error
    if tail.endswith(PARQUET_ENCRYPTED_MAGIC):
        raise _encrypted(name)
    if size < len(PARQUET_MAGIC) + _TAIL_BYTES or not tail.endswith(PARQUET_MAGIC):
        raise _damaged(name, f"it is truncated: {size} bytes that do not end with a Parquet footer")
    footer = int.from_bytes(tail[:4], "little")
    if footer > size - len(PARQUET_MAGIC) - _TAIL_BYTES:
        raise _damaged(name, f"it is truncated: its footer is longer than the {size} bytes of the file")
    return size, footer


def _check_extent(metadata: pq.FileMetaData, size: int, name: str) -> None:
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        for column in map(group.column, range(group.num_columns)):
            start = column.dictionary_page_offset or column.data_page_offset
            if start + column.total_compressed_size > size:
                raise _damaged(name, f"it is truncated: row group {index} lies beyond the end of the file")


def _dictionary_columns(group: pq.RowGroupMetaData, batch_bytes: int) -> list[str]:
    """Name the text columns that a dictionary may hold whole and that could fill a batch once decoded."""
    return [
        column.path_in_schema
        for column in map(group.column, range(group.num_columns))
        if column.physical_type == "BYTE_ARRAY"
        and column.has_dictionary_page
        and column.total_uncompressed_size <= _DICTIONARY_BYTES + 4 * column.num_values
        and column.num_values * column.total_uncompressed_size > batch_bytes
    ]


def _stored_bytes(group: pq.RowGroupMetaData) -> int:
    return sum(int(group.column(i).total_compressed_size) for i in range(group.num_columns))


def _cut(batch: pa.RecordBatch, batch_bytes: int) -> Iterator[pa.RecordBatch]:
    """Cut a batch that came out more than twice as large as asked for; the parts share its memory."""
    if batch.num_rows <= 1 or batch.nbytes <= 2 * batch_bytes:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _cut(batch.slice(0, half), batch_bytes)
    yield from _cut(batch.slice(half), batch_bytes)


def _records(batch: pa.RecordBatch, first: int) -> Records:
    rows = pa.array(range(first, first + batch.num_rows), pa.int64())
    bad = invalid_utf8_rows(batch)
    if not bad:
        return Records(rows, batch)
    kept = pa.array([index for index in range(batch.num_rows) if index not in bad], pa.int64())
    rejects = tuple(
        Reject(
            first + index,
            "invalid_utf8",
            _one_row(batch, index),
            "arrow_ipc",
            f"row {first + index}, column {bad[index]!r}: the text is not UTF-8",
        )
        for index in sorted(bad)
    )
    return Records(rows.take(kept), batch.take(kept), rejects)


def _one_row(batch: pa.RecordBatch, index: int) -> bytes:
    row = batch.take(pa.array([index], pa.int64()))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, row.schema) as stream:
        stream.write_batch(row)
    return bytes(sink.getvalue().to_pybytes())


def _damaged(name: str, why: str, row: int | None = None) -> FileRefusedError:
    return FileRefusedError(
        f"{name} is not a sound Parquet file: {why}. Download or export it again.", file=name, row=row
    )


def _encrypted(name: str) -> FileRefusedError:
    return FileRefusedError(f"{name} is an encrypted Parquet file. Decrypt it first.", file=name)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
