"""Streams over lazy frames and files: batches of consecutive records, bounded in memory, only the columns asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Protocol, cast, runtime_checkable

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from rollmill.expectations.stream import Frames, FrameStream

SPAN_BYTES: Final = 128 << 20
"""Row groups are read together up to about so many decoded bytes; a larger row group is read alone."""


@runtime_checkable
class Prunable(Protocol):
    """A stream that need not read all of its columns."""

    def only(self, columns: Sequence[str]) -> FrameStream:
        """Give the same records with these columns."""
        ...


@dataclass
class LazyStream:
    """The records of a lazy frame, in order. Memory is bounded where Polars can run the query as a stream."""

    frame: pl.LazyFrame
    schema: pl.Schema = field(init=False)

    def __post_init__(self) -> None:
        self.schema = self.frame.collect_schema()

    def only(self, columns: Sequence[str]) -> LazyStream:
        """Give the same records with these columns."""
        return LazyStream(self.frame.select(columns))

    def __iter__(self) -> Iterator[pl.DataFrame]:
        return iter(self.frame.collect_batches(maintain_order=True))


@dataclass
class ParquetStream:
    """The records of parquet files with equal columns, file by file; `columns` of them, or all."""

    paths: tuple[Path, ...]
    columns: tuple[str, ...] | None = None
    schema: pl.Schema = field(init=False)

    def __post_init__(self) -> None:
        self.schema = self._scan(self.paths).collect_schema()

    def only(self, columns: Sequence[str]) -> ParquetStream:
        """Give the same records with these columns."""
        return replace(self, columns=tuple(columns))

    def __iter__(self) -> Iterator[pl.DataFrame]:
        for path in self.paths:
            for start, rows in _spans(path):
                yield from self._scan((path,)).slice(start, rows).collect_batches(maintain_order=True)

    def _scan(self, paths: Sequence[Path]) -> pl.LazyFrame:
        found = pl.scan_parquet([str(path) for path in paths], glob=False)
        return found if self.columns is None else found.select(self.columns)


def _spans(path: Path) -> Iterator[tuple[int, int]]:
    """Cut a file at row groups: first record and number of records. Polars would read far ahead of itself."""
    with pq.ParquetFile(path) as file:
        footer = file.metadata
    start = rows = size = 0
    for group in (footer.row_group(i) for i in range(footer.num_row_groups)):
        if rows and size + group.total_byte_size > SPAN_BYTES:
            yield start, rows
            start, rows, size = start + rows, 0, 0
        rows, size = rows + group.num_rows, size + group.total_byte_size
    if rows:
        yield start, rows


@dataclass
class ArrowStream:
    """The records of Arrow IPC files (the file or the stream format) with equal columns, a record batch at a time."""

    paths: tuple[Path, ...]
    columns: tuple[str, ...] | None = None
    schema: pl.Schema = field(init=False)

    def __post_init__(self) -> None:
        with pa.memory_map(str(self.paths[0])) as source:
            self.schema = self._frame(pa.Table.from_batches([], _reader(source).schema)).schema

    def only(self, columns: Sequence[str]) -> ArrowStream:
        """Give the same records with these columns."""
        return replace(self, columns=tuple(columns))

    def __iter__(self) -> Iterator[pl.DataFrame]:
        for path in self.paths:
            with pa.memory_map(str(path)) as source:
                for batch in _batches(_reader(source)):
                    yield self._frame(pa.Table.from_batches([batch]))

    def _frame(self, table: pa.Table) -> pl.DataFrame:
        return pl.DataFrame(pl.from_arrow(table if self.columns is None else table.select(list(self.columns))))


def _reader(source: pa.MemoryMappedFile) -> Any:
    try:
        return pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        return pa.ipc.open_stream(source)


def _batches(reader: Any) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.ipc.RecordBatchStreamReader):
        yield from reader
    else:
        yield from (reader.get_batch(i) for i in range(reader.num_record_batches))


def as_stream(data: object) -> FrameStream:
    """Give frames, lazy frames and streams as a stream. Raises TypeError for anything else."""
    if isinstance(data, pl.LazyFrame):
        return LazyStream(data)
    if isinstance(data, pl.DataFrame):
        return Frames(data.schema, [data])
    if isinstance(getattr(data, "schema", None), pl.Schema) and hasattr(data, "__iter__"):
        return cast("FrameStream", data)
    raise TypeError(
        f"A {type(data).__name__} can't be judged: give a Polars LazyFrame or DataFrame, or a stream of frames with "
        "a `schema`."
    )
