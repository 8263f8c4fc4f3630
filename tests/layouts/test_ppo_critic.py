from __future__ import annotations

import math
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given

from rollmill.layouts import Origin, detect, layout_named
from rollmill.schema import SCHEMA
from tests.comparing import rows_of
from tests.strategies import column, prompt_response_batches

LAYOUT = layout_named("ppo_critic")
NUMBERS = (pa.float64(), pa.float32(), pa.int64(), pa.decimal128(12, 3))


def origin(split: str = "train_89") -> Origin:
    return Origin("lab", "default", split, "ab" * 32)


def normalize(batch: pa.RecordBatch, split: str = "train_89", **options: str) -> pa.Table:
    return LAYOUT.normalize(batch, pa.array(range(len(batch)), pa.int64()), origin(split), options)


def batch(**columns: Any) -> pa.RecordBatch:
    rows = len(next(iter(columns.values()), [0]))
    plain = {"prompt": ["p"] * rows, "response": ["so: 0.5"] * rows, "pred": [0.5] * rows, "target": [1.0] * rows}
    return pa.RecordBatch.from_pydict(plain | {"score": [0.5] * rows} | columns)


@st.composite
def critic_batches(draw: st.DrawFn) -> pa.RecordBatch:
    base = draw(prompt_response_batches(reward=False))
    columns = dict(zip(base.schema.names, base.columns, strict=True))
    for name in ("pred", "target", "score"):
        columns[name] = draw(column(draw(st.sampled_from(NUMBERS)), len(base)))
    names = draw(st.permutations(list(columns)))
    return pa.RecordBatch.from_arrays([columns[name] for name in names], names)


@given(critic_batches())
def test_restoring_is_the_inverse_of_normalizing(source: pa.RecordBatch) -> None:
    unified = normalize(source)
    assert unified.schema.equals(SCHEMA)
    unified.validate(full=True)
    values = [*unified.column("value_pred").to_pylist(), *unified.column("value_target").to_pylist()]
    assert all(value is None or math.isfinite(value) for value in values)
    restored = LAYOUT.restore(unified, source.schema)
    assert restored.schema == source.schema
    assert rows_of(restored) == rows_of(source)


def test_the_five_columns_win_over_prompt_and_response_alone() -> None:
    types = {"prompt": "string", "response": "string", "pred": "double", "target": "double", "score": "double"}
    assert detect(types, "lab").name == "ppo_critic"
    assert detect(types | {"pred": "string"}, "lab").name == "prompt_response"


def test_a_row_is_the_critics_own() -> None:
    row = normalize(batch()).to_pylist()[0]
    assert row["producer_role"] == "critic"
    assert (row["value_pred"], row["value_target"], row["reward"], row["reward_kind"]) == (
        0.5,
        1.0,
        0.5,
        "critic_score",
    )
    assert (row["policy_step"], row["policy_step_unit"], row["policy_version"]) == (89, "iteration", "train_89")
    assert row["quality_flags"] == ["group_inferred"]
    assert row["extra_json"] == "{}"


@pytest.mark.parametrize("split", ["train", "test", "train-89", "89"])
def test_a_split_without_a_number_says_nothing_of_the_policy(split: str) -> None:
    row = normalize(batch(), split).to_pylist()[0]
    assert (row["policy_step"], row["policy_step_unit"], row["policy_version"]) == (None, None, None)


def test_the_policy_step_can_be_left_out() -> None:
    assert normalize(batch(), policy_step="none").column("policy_step").null_count == 1


def test_one_prompt_at_two_checkpoints_is_one_prompt_in_two_groups() -> None:
    early, late = (normalize(batch(), split).to_pylist()[0] for split in ("train_1", "train_89"))
    assert early["prompt_id"] == late["prompt_id"]
    assert early["group_id"] != late["group_id"]


def test_a_value_that_is_not_finite_is_null_flagged_and_kept() -> None:
    rows = normalize(batch(pred=[math.nan, 0.5, None], target=[1.0, -math.inf, 1.0])).to_pylist()
    assert [row["value_pred"] for row in rows] == [None, 0.5, None]
    assert [row["value_target"] for row in rows] == [1.0, None, 1.0]
    assert [row["quality_flags"] for row in rows] == [
        ["group_inferred", "nan_nulled"],
        ["group_inferred", "nan_nulled"],
        ["group_inferred"],
    ]
    assert [row["extra_json"] for row in rows] == ['{"pred":{"$float":"nan"}}', '{"target":{"$float":"-inf"}}', "{}"]


def test_a_file_may_lack_a_column_that_others_have() -> None:
    lacking = batch().drop_columns(["score", "pred"])
    rows = normalize(lacking).to_pylist()
    assert (rows[0]["reward"], rows[0]["value_pred"], rows[0]["value_target"]) == (None, None, 1.0)
    assert LAYOUT.restore(normalize(lacking), lacking.schema).equals(pa.Table.from_batches([lacking]))
