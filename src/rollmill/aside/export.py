"""Whole records that were put aside, to a file of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from rollmill.aside.index import PLACE, Aside
from rollmill.errors import AccessError, ConfigError
from rollmill.promotion import conform, promoted_schema
from rollmill.quarantine import quarantine_schema

_KINDS: Final = (".parquet", ".jsonl")
_LEFT_OUT: Final = ("source_digest", "source_ordinal")


def export(aside: Aside, chosen: pl.DataFrame, out: Path) -> int:
    """Write the records of lines of the index to `out`: Parquet or JSON lines, by its ending. Returns how many.

    Columns: source, config, split, file, source_row, reason, reasons, detail, raw, raw_kind, and `row` with the
    source's columns, promoted over all records. In JSON lines, `raw` is hex. Raises ConfigError for another ending,
    FileRefusedError if sources have a column of types without a common form, AccessError if `out` can't be written.
    """
    if out.suffix not in _KINDS:
        raise ConfigError(f"--out {out.name}: records are exported as {' or '.join(_KINDS)}.")
    source = promoted_schema(list(aside.schemas()))
    tables = (_shaped(table, source) for table in aside.records(chosen))
    partial = out.with_name(out.name + ".partial")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        count = _write_parquet(tables, source, partial) if out.suffix == ".parquet" else _write_lines(tables, partial)
        partial.replace(out)
    except OSError as error:
        raise AccessError(f"{out} can't be written: {error.strerror or error}.", file=str(out)) from error
    finally:
        with suppress(OSError):
            partial.unlink()
    return count


def _export_schema(source: pa.Schema) -> pa.Schema:
    places = [pa.field(name, pa.string(), nullable=False) for name in PLACE]
    return pa.schema([*places, *(f for f in quarantine_schema(source) if f.name not in _LEFT_OUT)])


def _shaped(table: pa.Table, source: pa.Schema) -> pa.Table:
    """Give a table the columns of the export, the source's rows in the types common to all."""
    schema = _export_schema(source)
    if "row" in table.column_names and len(source):
        row = table.column("row").combine_chunks()
        row = row if isinstance(row, pa.StructArray) else pa.concat_arrays(row.chunks)
        members = pa.Table.from_arrays(row.flatten(), schema=pa.schema(list(row.type)))
        columns = [column.combine_chunks() for column in conform(members, _nullable(source)).columns]
        whole = pa.StructArray.from_arrays(columns, fields=list(_nullable(source)), mask=row.is_null())
        table = table.set_column(table.column_names.index("row"), "row", whole)
    arrays: list[Any] = [
        table.column(f.name) if f.name in table.column_names else pa.nulls(len(table), f.type) for f in schema
    ]
    return pa.Table.from_arrays(arrays, names=schema.names)


def _nullable(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_nullable(nullable=True) for field in schema])


def _write_parquet(tables: Iterator[pa.Table], source: pa.Schema, path: Path) -> int:
    count = 0
    with pq.ParquetWriter(path, _export_schema(_nullable(source)), compression="zstd") as writer:
        for table in tables:
            writer.write_table(table.cast(writer.schema))
            count += table.num_rows
    return count


def _write_lines(tables: Iterator[pa.Table], path: Path) -> int:
    count = 0
    with path.open("wb") as file:
        for table in tables:
            frame = pl.DataFrame(pl.from_arrow(table))
            frame.with_columns(pl.col("raw").bin.encode("hex")).write_ndjson(file)
            count += table.num_rows
    return count
