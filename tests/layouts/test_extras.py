from __future__ import annotations

import json

import pyarrow as pa

from rollmill.formats.records import JSON_TEXT_KEY
from rollmill.layouts.extras import decode_extras, encode_extras


def test_extras_are_json_that_any_reader_takes() -> None:
    columns = {
        "f": pa.array([float("nan"), 1.5, None]),
        "s": pa.array(['a"b\n', "", None]),
        "t": pa.array([1, None, 2], pa.timestamp("ns", "Asia/Tokyo")),
        "m": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    }
    texts = encode_extras({name: (pa.field(name, a.type), a) for name, a in columns.items()}, 3).to_list()

    def refuse(literal: str) -> None:
        raise AssertionError(literal)

    rows = [json.loads(text, parse_constant=refuse) for text in texts]
    assert rows[0]["f"] == {"$float": "nan"}
    assert rows[1] == {"f": 1.5, "s": ""}
    assert rows[2] == {"t": {"$timestamp": 2}, "m": []}


def test_maps_come_back() -> None:
    values = pa.array([[("k", 1), ("z", None)], None, []], pa.map_(pa.string(), pa.int64()))
    field = pa.field("m", values.type)
    texts = encode_extras({"m": (field, values)}, 3)
    assert decode_extras(texts.to_arrow(), {"m": field})["m"].equals(values)


def test_json_text_stands_as_it_is_and_comes_back_verbatim() -> None:
    texts = ['{"b":1,"a":[1.0,1]}', '{"x":NaN}', '[{"$json":"y"}]', "18446744073709551616", '"\\u2028"']
    field = pa.field("meta", pa.string(), metadata={JSON_TEXT_KEY: b"1"})
    encoded = encode_extras({"meta": (field, pa.array(texts))}, len(texts))
    assert encoded[0] == '{"meta":{"b":1,"a":[1.0,1]}}'
    back = decode_extras(encoded.to_arrow(), {"meta": field})["meta"].to_pylist()
    assert back[:4] == texts[:4]
    assert json.loads(back[4]) == "\u2028"


def test_no_extras_are_an_empty_object() -> None:
    assert encode_extras({}, 2).to_list() == ["{}", "{}"]
    field = pa.field("gone", pa.int64())
    assert decode_extras(pa.array(["{}", "{}"]), {"gone": field})["gone"].to_pylist() == [None, None]
