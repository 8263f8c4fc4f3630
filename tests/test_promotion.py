from __future__ import annotations

import pyarrow as pa
import pytest

from rollmill.errors import FileRefusedError
from rollmill.formats.records import JSON_TEXT_KEY
from rollmill.promotion import conform, promoted_schema

JSON = {JSON_TEXT_KEY: b"1"}


def promote(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    return promoted_schema([("a", pa.schema([("x", a)])), ("b", pa.schema([("x", b)]))]).field("x").type


@pytest.mark.parametrize(
    ("a", "b", "wanted"),
    [
        (pa.int64(), pa.float64(), pa.float64()),
        (pa.int8(), pa.int32(), pa.int32()),
        (pa.uint8(), pa.int8(), pa.int16()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.null(), pa.string(), pa.string()),
        (pa.timestamp("us"), pa.timestamp("ns", "Asia/Tokyo"), pa.timestamp("ns", "UTC")),
        (pa.timestamp("s", "UTC"), pa.timestamp("ms", "UTC"), pa.timestamp("ms", "UTC")),
        (pa.list_(pa.int8()), pa.list_(pa.null()), pa.list_(pa.int8())),
        (
            pa.struct([("a", pa.int8())]),
            pa.struct([("b", pa.string())]),
            pa.struct([("a", pa.int8()), ("b", pa.string())]),
        ),
    ],
)
def test_types_are_promoted_where_nothing_is_lost(a: pa.DataType, b: pa.DataType, wanted: pa.DataType) -> None:
    assert promote(a, b) == wanted
    assert promote(b, a).equals(wanted) or pa.types.is_struct(wanted)


@pytest.mark.parametrize(
    ("a", "b"),
    [(pa.string(), pa.int64()), (pa.bool_(), pa.int8()), (pa.uint64(), pa.int8()), (pa.date32(), pa.string())],
)
def test_other_types_are_refused_naming_file_and_column(a: pa.DataType, b: pa.DataType) -> None:
    with pytest.raises(FileRefusedError) as caught:
        promote(a, b)
    assert (caught.value.file, caught.value.column) == ("b", "x")
    assert "x" in caught.value.message


def test_a_column_that_one_file_lacks_is_nullable_and_null() -> None:
    one = pa.schema([pa.field("x", pa.string(), nullable=False)])
    two = pa.schema([pa.field("x", pa.string(), nullable=False), pa.field("y", pa.int64(), nullable=False)])
    schema = promoted_schema([("one", one), ("two", two)])
    assert not schema.field("x").nullable
    assert schema.field("y").nullable
    assert conform(pa.table({"x": ["a"]}, schema=one), schema).to_pylist() == [{"x": "a", "y": None}]


def test_text_beside_json_text_becomes_json_text() -> None:
    schemas = [("a", pa.schema([("x", pa.string())])), ("b", pa.schema([pa.field("x", pa.string(), metadata=JSON)]))]
    schema = promoted_schema(schemas)
    assert conform(pa.table({"x": ['say "hi"', None]}), schema).to_pylist() == [{"x": '"say \\"hi\\""'}, {"x": None}]
