from __future__ import annotations

import hashlib

import hypothesis.strategies as st
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

from rollmill.errors import LayoutError
from rollmill.layouts import Origin, detect, layout_named
from rollmill.schema import SCHEMA
from tests.comparing import rows_of
from tests.strategies import prompt_response_batches

LAYOUT = layout_named("prompt_response")
ORIGIN = Origin("lab", "default", "train", "ab" * 32)


def normalize(batch: pa.RecordBatch, origin: Origin = ORIGIN, start: int = 0, **options: str) -> pa.Table:
    return LAYOUT.normalize(batch, pa.array(range(start, start + len(batch)), pa.int64()), origin, options)


def batch(**columns: object) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


@given(prompt_response_batches())
def test_restoring_is_the_inverse_of_normalizing(source: pa.RecordBatch) -> None:
    unified = normalize(source)
    assert unified.schema.equals(SCHEMA)
    unified.validate(full=True)
    restored = LAYOUT.restore(unified, source.schema)
    assert restored.schema == source.schema
    assert rows_of(restored) == rows_of(source)


@given(prompt_response_batches(), st.integers(0, 5))
def test_rows_do_not_depend_on_how_they_are_batched(source: pa.RecordBatch, cut: int) -> None:
    whole = normalize(source)
    parts = [normalize(source.slice(0, cut)), normalize(source.slice(cut), start=min(cut, len(source)))]
    assert pa.concat_tables(parts).to_pydict().__repr__() == whole.to_pydict().__repr__()


def test_a_row_says_what_it_is() -> None:
    unified = normalize(batch(response=["It is 2."], prompt=["1+1?"], seed=[7])).to_pylist()[0]
    assert [(m["role"], m["content"]) for m in unified["context"]] == [("user", "1+1?")]
    assert [(m["role"], m["content"]) for m in unified["completion"]] == [("assistant", "It is 2.")]
    assert unified["context_format"] == unified["completion_format"] == "text@1"
    assert (unified["reward"], unified["reward_kind"]) == (None, "none")
    assert unified["quality_flags"] == ["group_inferred"]
    assert unified["extra_json"] == '{"seed":7}'
    assert (unified["step_idx"], unified["num_steps"], unified["is_last"]) == (0, 1, True)
    assert unified["terminated"] is None
    assert unified["truncated"] is None


def test_a_missing_prompt_is_no_context_and_an_empty_one_is_an_empty_message() -> None:
    unified = normalize(batch(prompt=[None, ""], response=["a", "b"])).to_pylist()
    assert unified[0]["context"] == []
    assert unified[1]["context"][0]["content"] == ""
    assert unified[0]["context_id"] != unified[1]["context_id"]


def test_the_same_prompt_has_one_id_everywhere_and_rows_have_their_own() -> None:
    here = normalize(batch(prompt=["p", "p", "q"], response=["x", "x", "x"]))
    there = normalize(batch(response=["y"], prompt=["p"]), Origin("other", "c", "test", "cd" * 32))
    ids = here.column("prompt_id").to_pylist()
    assert ids[0] == ids[1] == there.column("prompt_id")[0].as_py() != ids[2]
    assert len(set(here.column("row_id").to_pylist())) == 3
    content = here.column("content_id").to_pylist()
    assert content[0] == content[1] != content[2]


@pytest.mark.parametrize(
    "other",
    [
        Origin("lab2", "default", "train", "ab" * 32),
        Origin("lab", "main", "train", "ab" * 32),
        Origin("lab", "default", "test", "ab" * 32),
        Origin("lab", "default", "train", "cd" * 32),
        Origin("lab", "default", "train", "ab" * 32, ordinal=1),
    ],
)
def test_ids_tell_apart_where_a_row_comes_from(other: Origin) -> None:
    source = batch(prompt=["p"], response=["x"])
    first, second = (normalize(source, origin).to_pylist()[0] for origin in (ORIGIN, other))
    assert first["row_id"] != second["row_id"]
    assert first["rollout_id"] != second["rollout_id"]
    assert first["source_row_hash"] == second["source_row_hash"]


def test_ids_are_those_of_this_version() -> None:
    row = normalize(batch(prompt=["What is 1+1?"], response=["It is 2."])).to_pylist()[0]
    assert row["row_id"] == "32e1a46d4fb2666c30d344132aa41704"
    assert row["rollout_id"] == "a6195898a95e3f88a7696c0f00422951"
    assert row["content_id"] == "40ff1de0f95bfa85bcdedda364bc51fd"
    assert row["group_id"] == "b61af23d533f902cf4c2398a95c570ba"
    prompt = hashlib.sha256(b"What is 1+1?").hexdigest()
    by_hand = hashlib.sha256(f"rollmill/context/1|s4:texts64:{prompt}n".encode()).hexdigest()[:32]
    assert row["prompt_id"] == row["context_id"] == by_hand


def test_rewards_of_any_numeric_form_become_numbers_and_come_back() -> None:
    for rewards in (
        pa.array([1, 0]),
        pa.array([2**60 + 1, -3]),
        pa.array([True, False]),
        pa.array([" 0.5 ", "1e3"]),
        pa.array([0.1, -0.0], pa.float32()),
    ):
        source = batch(prompt=["p", "q"], response=["x", "y"], reward=rewards)
        unified = normalize(source, reward_kind="outcome")
        assert unified.column("reward_kind").to_pylist() == ["outcome"] * 2
        assert unified.column("reward").null_count == 0
        assert LAYOUT.restore(unified, source.schema).equals(pa.Table.from_batches([source]))
    assert unified.column("reward").to_pylist()[0] == pytest.approx(0.1)


def test_group_ids_are_inferred_from_the_prompt() -> None:
    unified = pl.DataFrame(pl.from_arrow(normalize(batch(prompt=["p", "q", "p"], response=["x", "y", "z"]))))
    groups = unified["group_id"].to_list()
    assert groups[0] == groups[2] != groups[1]
    assert unified["sample_idx"].is_null().all()


def test_an_unknown_layout_is_refused_with_what_was_seen_and_what_is_near() -> None:
    with pytest.raises(LayoutError) as caught:
        detect({"prompt": "string", "answer": "string"}, "lab")
    for word in ("lab", "prompt (string)", "answer (string)", "prompt_response", "no column response", "--layout"):
        assert word in caught.value.message


def test_a_reward_column_that_holds_no_numbers_does_not_fit() -> None:
    with pytest.raises(LayoutError, match="column reward is list<string>"):
        detect({"prompt": "string", "response": "string", "reward": "list<string>"}, "lab")
