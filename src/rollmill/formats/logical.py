"""Logical types: the many physical forms of strings and lists become one, and strings are proved to be UTF-8."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from rollmill.formats.records import JSON_TEXT_KEY

_DROPPED_SCHEMA_KEYS = (b"huggingface", b"pandas", b"ARROW:schema")

t = pa.types


def logical_schema(schema: pa.Schema) -> pa.Schema:
    """Give the schema in logical types: same names, order and nullability; notes of pandas and HF datasets dropped."""
    kept = {key: value for key, value in (schema.metadata or {}).items() if key not in _DROPPED_SCHEMA_KEYS}
    return pa.schema([logical_field(field) for field in schema], metadata=kept or None)


def logical_field(field: pa.Field[Any]) -> pa.Field[Any]:
    """Give the field in logical types; of its metadata only the mark for JSON text is kept."""
    marks = {key: value for key, value in (field.metadata or {}).items() if key == JSON_TEXT_KEY}
    return pa.field(field.name, logical_type(field.type), field.nullable, metadata=marks or None)


def logical_type(kind: pa.DataType) -> pa.DataType:
    """Give the logical type of a physical one, nested ones included.

    large_string and string_view are string, so for binary; large, fixed-size and view lists are list; a dictionary is
    its values; an extension is its storage. The values of a list are called item. All others stay.
    """
    if isinstance(kind, pa.BaseExtensionType):
        return logical_type(kind.storage_type)
    if isinstance(kind, pa.DictionaryType):
        return logical_type(kind.value_type)
    if t.is_nested(kind):
        return _logical_nested(kind)
    if t.is_large_string(kind) or t.is_string_view(kind):
        return pa.string()
    return pa.binary() if t.is_large_binary(kind) or t.is_binary_view(kind) else kind


def _logical_nested(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.MapType):
        return pa.map_(logical_field(kind.key_field), logical_field(kind.item_field), kind.keys_sorted)
    if _is_list(kind):
        return pa.list_(logical_field(kind.value_field).with_name("item"))
    if isinstance(kind, pa.StructType):
        return pa.struct([logical_field(kind.field(i)) for i in range(kind.num_fields)])
    return kind


def to_logical(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Give the batch in the types of its logical schema; values are untouched, strings not yet proved."""
    columns = [
        column if column.type.equals(field.type, check_metadata=True) else _cast(column, field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    if not columns:
        return batch.replace_schema_metadata(schema.metadata)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def invalid_utf8_rows(batch: pa.RecordBatch) -> dict[int, str]:
    """Find the rows with a string that is not UTF-8, at any depth, and the first such column of each."""
    bad: dict[int, str] = {}
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if not _is_sound(column):
            for row in _unsound_rows(column, 0):
                bad.setdefault(row, field.name)
    return bad


def _is_list(kind: pa.DataType) -> bool:
    return bool(
        t.is_list(kind)
        or t.is_large_list(kind)
        or t.is_fixed_size_list(kind)
        or t.is_list_view(kind)
        or t.is_large_list_view(kind)
    )


def _has_list_view(kind: pa.DataType) -> bool:
    if t.is_list_view(kind) or t.is_large_list_view(kind):
        return True
    return any(_has_list_view(kind.field(i).type) for i in range(kind.num_fields))


def _cast(column: pa.Array[Any], kind: pa.DataType) -> pa.Array[Any]:
    if _has_list_view(column.type):  # pyarrow 26 casts list views that hold nulls to wrong offsets
        return pa.array(column.to_pylist(), kind)
    return column.cast(kind)


def _is_sound(column: pa.Array[Any]) -> bool:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _unsound_rows(column: pa.Array[Any], first: int) -> list[int]:
    """Halve until single rows are left; each half is copied, as a slice is judged with its whole parent."""
    if _is_sound(column):
        return []
    if len(column) == 1:
        return [first]
    half = len(column) // 2
    left, right = range(half), range(half, len(column))
    return _unsound_rows(column.take(pa.array(left)), first) + _unsound_rows(column.take(pa.array(right)), first + half)
