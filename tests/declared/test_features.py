from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
import yaml

from rollmill.declared.features import card_features, footer_features
from rollmill.formats.logical import logical_type

MESSAGES = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
SCHEMAS = {
    "scalars": pa.schema(
        [
            ("text", pa.string()),
            ("long", pa.large_string()),
            ("flag", pa.bool_()),
            ("half", pa.float16()),
            ("single", pa.float32()),
            ("number", pa.float64()),
            ("small", pa.uint8()),
            ("whole", pa.int64()),
            ("raw", pa.binary()),
            ("nothing", pa.null()),
        ]
    ),
    "times": pa.schema(
        [
            ("day", pa.date32()),
            ("naive", pa.timestamp("us")),
            ("zoned", pa.timestamp("ns", "UTC")),
            ("took", pa.duration("ms")),
            ("at", pa.time64("us")),
            ("cost", pa.decimal128(10, 2)),
        ]
    ),
    "nested": pa.schema(
        [
            ("messages", MESSAGES),
            ("large", pa.large_list(pa.int32())),
            ("fixed", pa.list_(pa.float32(), 3)),
            ("deep", pa.struct([("a", pa.list_(pa.list_(pa.string()))), ("b", pa.struct([("c", MESSAGES)]))])),
        ]
    ),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # within datasets
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_what_datasets_writes_is_read_as_the_types_it_stands_for(schema: pa.Schema) -> None:
    import datasets

    features = datasets.Features.from_arrow_schema(schema)
    logical = {field.name: logical_type(field.type) for field in schema}
    assert card_features(yaml.safe_load(yaml.safe_dump(features._to_yaml_list()))) == logical
    assert footer_features(json.loads(json.dumps(features.to_dict()))) == logical


@pytest.mark.parametrize(
    ("feature", "kind"),
    [
        ({"dtype": {"class_label": {"names": {"0": "bad", "1": "good"}}}}, pa.int64()),
        ({"sequence": "int32"}, pa.list_(pa.int32())),
        ({"sequence": {"dtype": "int32"}, "length": 3}, pa.list_(pa.int32())),
        ({"sequence": [{"name": "a", "dtype": "string"}]}, pa.struct([("a", pa.list_(pa.string()))])),
        ({"list": [{"name": "a", "dtype": "string"}]}, pa.list_(pa.struct([("a", pa.string())]))),
        ({"struct": [{"name": "a", "dtype": "string"}]}, pa.struct([("a", pa.string())])),
        ({"dtype": "image"}, None),
        ({"dtype": {"array2_d": {"shape": [2, 2], "dtype": "int32"}}}, None),
        ({"dtype": "stringg"}, None),
        ({"dtype": 7}, None),
        ({}, None),
        ({"list": [7]}, None),
        ({"dtype": "decimal128(99, 2)"}, None),
    ],
)
def test_the_forms_of_cards(feature: dict[str, Any], kind: pa.DataType | None) -> None:
    assert card_features([{"name": "x", **feature}]) == {"x": kind}


@pytest.mark.parametrize(
    ("feature", "kind"),
    [
        ({"feature": {"a": {"dtype": "string", "_type": "Value"}}, "_type": "Sequence"}, {"a": pa.list_(pa.string())}),
        ([{"dtype": "string", "_type": "Value"}], pa.list_(pa.string())),
        ({"names": ["a"], "_type": "ClassLabel"}, pa.int64()),
        ({"_type": "Image"}, None),
        ("string", None),
        ({"dtype": ["string"], "_type": "Value"}, None),
    ],
)
def test_the_forms_of_footers(feature: Any, kind: Any) -> None:
    assert footer_features({"x": feature}) == {"x": pa.struct(list(kind.items())) if isinstance(kind, dict) else kind}


@pytest.mark.parametrize("declared", [None, "x", 7, {"a": 1}, ["x"], [{"dtype": "string"}]])
def test_another_form_declares_nothing(declared: Any) -> None:
    assert card_features(declared) is None


def test_a_few_lines_that_stand_for_billions_of_features_end_soon() -> None:
    lines = ["- &a0 {name: x, dtype: string}"]
    lines += [f"- &a{i} {{name: x{i}, list: [{', '.join([f'*a{i - 1}'] * 9)}]}}" for i in range(1, 12)]
    features = card_features(yaml.safe_load("\n".join(lines)))
    assert features is not None
    assert features["x11"] is None
    assert card_features(yaml.safe_load("- &a {name: x, list: [*a]}")) == {"x": None}
