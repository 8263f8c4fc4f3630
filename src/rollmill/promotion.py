"""One schema for files whose columns drifted: types are promoted where nothing is lost, else the column is named."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from rollmill.errors import FileRefusedError
from rollmill.formats.records import JSON_TEXT_KEY
from rollmill.identity import logical_type

_JSON = {JSON_TEXT_KEY: b"1"}
_FROM_JSON_LINES = {"string", "json", "int64", "double", "bool"}
_UNITS = ("s", "ms", "us", "ns")


class _MismatchError(Exception):
    """Two types have no common form."""


def promoted_schema(schemas: Iterable[tuple[str, pa.Schema]]) -> pa.Schema:
    """Unite the schemas of files (name, schema), columns in order of first appearance.

    A column that some file lacks, or holds only nulls in, is nullable. Raises FileRefusedError naming the file and
    the column whose types can't be brought together without loss.
    """
    fields: dict[str, pa.Field] = {}
    given = list(schemas)
    for file, schema in given:
        for field in schema:
            seen = fields.get(field.name)
            try:
                fields[field.name] = field if seen is None else _promote(seen, field)
            except _MismatchError:
                raise _refusal(file, seen or field, field) from None
    everywhere = [name for name in fields if all(name in schema.names for _, schema in given)]
    return pa.schema([f if name in everywhere else f.with_nullable(nullable=True) for name, f in fields.items()])


def conform(table: pa.Table, schema: pa.Schema, *, file: str | None = None) -> pa.Table:
    """Cast a file's table to the promoted schema; columns it lacks are null.

    Raises FileRefusedError naming the column (and the file, if given) where a value would be lost.
    """
    arrays = []
    for field in schema:
        if field.name not in table.column_names:
            arrays.append(pa.chunked_array([pa.nulls(table.num_rows, field.type)]))
            continue
        own = table.schema.field(field.name)
        try:
            arrays.append(_cast(table.column(field.name), own, field))
        except pa.ArrowInvalid as error:
            raise _loss(file, own, field, error) from error
    return pa.Table.from_arrays(arrays, schema=schema)


def _refusal(file: str, seen: pa.Field, field: pa.Field) -> FileRefusedError:
    return FileRefusedError(
        f"Column {field.name} is {logical_type(field)} in {file} but {logical_type(seen)} in the files before it, and "
        "neither can be turned into the other without loss. Write the column with one type, or give the files to "
        "separate sources.",
        file=file,
        column=field.name,
    )


def _loss(file: str | None, own: pa.Field, wanted: pa.Field, error: pa.ArrowInvalid) -> FileRefusedError:
    return FileRefusedError(
        f"Column {own.name} is {logical_type(own)} in {file or 'one file'} and {logical_type(wanted)} over all files, "
        f"which can't hold all of its values ({error}). Write the column with one type, or give the files to separate "
        "sources.",
        file=file,
        column=own.name,
    )


def _promote(a: pa.Field, b: pa.Field) -> pa.Field:
    nullable = a.nullable or b.nullable
    names = {logical_type(a), logical_type(b)}
    if len(names) == 1:
        return a.with_nullable(nullable)
    if "null" in names:
        return (b if logical_type(a) == "null" else a).with_nullable(nullable=True)
    if "json" in names and names <= _FROM_JSON_LINES:
        return pa.field(a.name, pa.string(), nullable=nullable, metadata=_JSON)
    return pa.field(a.name, _common(a.type, b.type), nullable=nullable)


def _common(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    if pa.types.is_integer(a) and pa.types.is_integer(b):
        return _common_integer(a, b)
    if _is_number(a) and _is_number(b):
        return pa.float64()
    if pa.types.is_timestamp(a) and pa.types.is_timestamp(b):
        unit = max(a.unit, b.unit, key=_UNITS.index)
        return pa.timestamp(unit, a.tz if a.tz == b.tz else "UTC")
    if _is_list(a) and _is_list(b):
        return pa.list_(_promote(_item(a), _item(b)))
    if pa.types.is_struct(a) and pa.types.is_struct(b):
        return _common_struct(a, b)
    raise _MismatchError


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _item(kind: Any) -> pa.Field:
    return pa.field("item", kind.value_type, nullable=kind.value_field.nullable)


def _common_integer(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    signed = pa.types.is_signed_integer(a) or pa.types.is_signed_integer(b)
    widths = [k.bit_width * 2 if signed and pa.types.is_unsigned_integer(k) else k.bit_width for k in (a, b)]
    wanted = f"{'' if signed else 'u'}int{max(widths)}"
    kinds = {str(k): k for k in (pa.int8(), pa.int16(), pa.int32(), pa.int64())}
    kinds |= {str(k): k for k in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())}
    if wanted not in kinds:
        raise _MismatchError
    return kinds[wanted]


def _common_struct(a: pa.StructType, b: pa.StructType) -> pa.DataType:
    members = {f.name: f for f in a}
    for field in b:
        seen = members.get(field.name)
        members[field.name] = _promote(seen, field) if seen is not None else field.with_nullable(nullable=True)
    missing = {f.name for f in a} - {f.name for f in b}
    return pa.struct([f.with_nullable(nullable=True) if n in missing else f for n, f in members.items()])


def _cast(column: pa.ChunkedArray[Any], own: pa.Field, wanted: pa.Field) -> pa.ChunkedArray[Any]:
    if logical_type(wanted) == "json" and logical_type(own) != "json":
        texts = [None if v is None else json.dumps(v, ensure_ascii=False) for v in column.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.string())])
    return column if own.type == wanted.type else column.cast(wanted.type)
