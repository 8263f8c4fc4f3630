from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

from rollmill.identity import combined_id, logical_type, source_row_hash, text_digest
from tests.comparing import rows_of
from tests.strategies import prompt_response_batches


def hashes(values: Sequence[object], kind: pa.DataType) -> list[str]:
    return source_row_hash(pa.RecordBatch.from_arrays([pa.array(values, kind)], ["x"])).to_list()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0.0, -0.0, float("nan"), None, 1.0], pa.float64()),
        (["", None, "null", "n", "\x00"], pa.string()),
        ([[], None, [None], [[]], [[None]]], pa.list_(pa.list_(pa.string()))),
        ([["a", "b"], ["ab"], ["a;b"], ["a", ";b"]], pa.list_(pa.string())),
        ([{"a": None}, None, {"a": 1}], pa.struct([("a", pa.int64())])),
        ([b"\xff", b"", None], pa.binary()),
        ([True, False, None], pa.bool_()),
    ],
)
def test_values_that_differ_hash_differently(values: list[object], kind: pa.DataType) -> None:
    assert len(set(hashes(values, kind))) == len(values)


def test_equal_numbers_of_different_types_hash_differently() -> None:
    kinds = (pa.int64(), pa.int32(), pa.float64(), pa.uint8(), pa.string())
    assert len({hashes([1 if kind != pa.string() else "1"], kind)[0] for kind in kinds}) == len(kinds)


def test_physical_forms_of_one_logical_type_hash_equally() -> None:
    texts = ["a", None, "a"]
    forms = (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()))
    assert len({tuple(hashes(texts, kind)) for kind in forms}) == 1
    lists = (pa.list_(pa.int64()), pa.large_list(pa.int64()), pa.list_(pa.int64(), 2))
    assert len({tuple(hashes([[1, 2], None], kind)) for kind in lists}) == 1


def test_column_order_does_not_count_but_names_do() -> None:
    batch = pa.RecordBatch.from_pydict({"a": ["x"], "b": ["y"]})
    swapped = pa.RecordBatch.from_pydict({"a": ["y"], "b": ["x"]})
    assert source_row_hash(batch.select(["b", "a"])).to_list() == source_row_hash(batch).to_list()
    assert source_row_hash(batch).to_list() != source_row_hash(swapped).to_list()


@given(prompt_response_batches())
def test_a_row_hash_is_a_function_of_the_row(batch: pa.RecordBatch) -> None:
    whole = source_row_hash(batch).to_list()
    for i in range(len(batch)):
        assert source_row_hash(batch.slice(i, 1)).to_list() == [whole[i]]
    same = {i: rows_of(batch.slice(i, 1)) for i in range(len(batch))}
    for i, j in combinations(same, 2):
        assert (same[i] == same[j]) == (whole[i] == whole[j])


def test_fields_are_delimited() -> None:
    assert combined_id("x", "ab", "c")[0] != combined_id("x", "a", "bc")[0]
    assert combined_id("x", None)[0] != combined_id("x", "n")[0]
    assert combined_id("x", 1)[0] != combined_id("x", "1")[0]
    assert combined_id("x", "a")[0] != combined_id("y", "a")[0]


def test_a_column_and_a_constant_give_the_same_id() -> None:
    column = combined_id("row", pl.Series(["é", None]), pl.Series([3, 4]))
    assert column.to_list() == [combined_id("row", "é", 3)[0], combined_id("row", None, 4)[0]]


def test_text_digests_are_sha256() -> None:
    assert text_digest(pl.Series(["abc", None])).to_list() == [
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        None,
    ]


def test_json_text_is_a_logical_type_of_its_own() -> None:
    assert logical_type(pa.field("x", pa.string(), metadata={b"rollmill.json": b"1"})) == "json"
