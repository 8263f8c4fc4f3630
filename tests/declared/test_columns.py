from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from rollmill.declared import Comparison, compare_plan
from rollmill.declared.columns import same_type
from tests.conftest import Mill, write_lines, write_parquet

TEXT = {"prompt": ["a", "b"], "response": ["c", "d"]}


def compared(mill: Mill, folder: Path, *features: dict[str, Any]) -> dict[str, tuple[Any, Any, str]]:
    info = {"dataset_info": {"features": list(features)}}
    (folder / "README.md").write_text(f"---\n{yaml.safe_dump(info)}---\n")
    found = compare_plan(mill.plan(folder), {})
    return {c.field: (c.declared, c.observed, c.verdict) for c in found}


def text(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "dtype": "string"} for name in names]


def test_names_types_and_order_are_compared(mill: Mill, tmp_path: Path) -> None:
    write_parquet(tmp_path / "lab" / "train.parquet", {**TEXT, "score": [1.0, 2.0], "more": [1, 2]})
    features = [*text("prompt", "response", "score"), {"name": "gone", "dtype": "int64"}]
    assert compared(mill, tmp_path / "lab", *features) == {
        "features": (4, 4, "equal"),
        "features.prompt": ("string", "string", "equal"),
        "features.response": ("string", "string", "equal"),
        "features.score": ("string", "double", "differs"),
        "features.gone": ("int64", None, "missing"),
        "features.more": (None, "int64", "undeclared"),
    }


def test_another_order_is_told_with_the_first_column_that_differs(mill: Mill, tmp_path: Path) -> None:
    write_parquet(tmp_path / "lab" / "train.parquet", TEXT)
    found = compared(mill, tmp_path / "lab", *text("response", "prompt"))
    assert found["features.order"] == ("response", "prompt", "differs")
    assert compared(mill, tmp_path / "lab", *text("prompt", "response"))["features.order"] == (
        "prompt",
        "prompt",
        "equal",
    )


def test_types_are_those_over_all_files_and_large_forms_count_as_plain_ones(mill: Mill, tmp_path: Path) -> None:
    write_parquet(tmp_path / "lab" / "train-0.parquet", {**TEXT, "n": pa.array([1, 2], pa.int32())})
    write_parquet(tmp_path / "lab" / "train-1.parquet", {**TEXT, "n": pa.array([1, 2], pa.int64())})
    features = [{"name": "prompt", "dtype": "large_string"}, *text("response"), {"name": "n", "dtype": "int64"}]
    assert {v for _, _, v in compared(mill, tmp_path / "lab", *features).values()} == {"equal"}


def test_one_split_with_another_type_is_found(mill: Mill, tmp_path: Path) -> None:
    write_parquet(tmp_path / "lab" / "train.parquet", {**TEXT, "note": ["x", "y"]})
    write_parquet(tmp_path / "lab" / "test.parquet", {**TEXT, "note": [1, 2]})
    assert compared(mill, tmp_path / "lab", *text("prompt", "response", "note"))["features.note"] == (
        "string",
        "int64",
        "differs",
    )


def test_types_of_json_lines_are_ours_so_only_kinds_are_compared(mill: Mill, tmp_path: Path) -> None:
    row = {"prompt": "a", "response": "b", "n": 1, "s": "x", "meta": {"k": [1]}, "none": None}
    write_lines(tmp_path / "lab" / "train.jsonl", [row])
    features: list[dict[str, Any]] = [{"name": "n", "dtype": "float32"}, {"name": "s", "dtype": "int64"}]
    features += [{"name": "meta", "struct": text("k")}, {"name": "none", "dtype": "string"}]
    found = compared(mill, tmp_path / "lab", *features)
    assert {name: found[f"features.{name}"][2] for name in ("n", "s", "meta", "none")} == {
        "n": "close",
        "s": "differs",
        "meta": "unchecked",
        "none": "unchecked",
    }


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (pa.struct([("a", pa.int64()), ("b", pa.string())]), pa.struct([("b", pa.string()), ("a", pa.int64())]), True),
        (pa.list_(pa.field("element", pa.string(), nullable=False)), pa.list_(pa.string()), True),
        (pa.struct([("a", pa.int64())]), pa.struct([("a", pa.int32())]), False),
        (pa.struct([("a", pa.int64())]), pa.struct([("a", pa.int64()), ("b", pa.int64())]), False),
        (pa.timestamp("us"), pa.timestamp("us", "UTC"), False),
        (pa.list_(pa.string()), pa.string(), False),
    ],
)
def test_two_types_are_the_same_if_they_hold_the_same(a: pa.DataType, b: pa.DataType, same: bool) -> None:
    assert same_type(a, b) == same


def footers(mill: Mill, folder: Path, note: bytes | str) -> list[Comparison]:
    schema = pa.table(TEXT).schema.with_metadata({"huggingface": note})
    write_parquet(folder / "train.parquet", pa.table(TEXT, schema=schema))
    return compare_plan(mill.plan(folder), {})


def test_a_footers_features_are_compared_with_its_own_columns(mill: Mill, tmp_path: Path) -> None:
    value = {"dtype": "string", "_type": "Value"}
    features = {"prompt": value, "response": value | {"dtype": "int64"}, "gone": value}
    found = footers(mill, tmp_path / "lab", json.dumps({"info": {"features": features}}))
    assert [(c.field, c.file, c.declared, c.observed, c.verdict) for c in found] == [
        ("features", "train.parquet", 3, 2, "differs"),
        ("features.response", "train.parquet", "int64", "string", "differs"),
        ("features.gone", "train.parquet", "string", None, "missing"),
    ]


@pytest.mark.parametrize("note", [b"", b"\xff{", "[", "7", '{"info": 7}', '{"info": {"features": [1]}}', "[" * 100_000])
def test_a_broken_footer_note_declares_nothing(mill: Mill, tmp_path: Path, note: bytes | str) -> None:
    assert footers(mill, tmp_path / "lab", note) == []
