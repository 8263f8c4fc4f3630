from __future__ import annotations

from itertools import pairwise
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from rollmill.layouts.rollouts import expand, finish, in_order
from tests.layouts.test_act_prm import batch, message, normalize, steps
from tests.strategies import act_prm_batches

SLOW = settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))


def finished(rows: list[dict[str, Any]], **options: Any) -> list[dict[str, Any]]:
    done: list[dict[str, Any]] = finish(in_order(normalize(batch(rows), **options))).to_pylist()
    return done


def contents(row: dict[str, Any]) -> list[str]:
    return [m["content"] for m in row["context"]]


def bandit(chosen: list[int], candidates: int = 2) -> list[dict[str, Any]]:
    """Steps with alternatives, of which `chosen` is carried on."""
    path = steps(0, [f"step {i} by {c}" for i, c in enumerate(chosen)])
    return [
        {**row, "generation_id": c, "action": message("assistant", f"step {i} by {c}")}
        for i, row in enumerate(path)
        for c in range(candidates)
    ]


def test_a_context_that_continues_the_step_before_is_stored_as_what_is_new() -> None:
    rows = finished(steps(1, ["a", "b", "c"]) + steps(2, ["d"]))
    assert [row["context_mode"] for row in rows] == ["full", "delta", "delta", "full"]
    assert [contents(row) for row in rows] == [["rules", "question 1"], ["seen 0"], ["seen 1"], ["rules", "question 2"]]
    assert [row["num_steps"] for row in rows] == [3, 3, 3, 1]
    assert [row["is_last"] for row in rows] == [False, False, True, True]
    assert [row["is_selected"] for row in rows] == [None] * 4
    assert [row["prompt_id"] == rows[0]["context_id"] for row in rows] == [True, True, True, False]


@pytest.mark.parametrize(
    "change",
    [
        {"role": "user"},
        {"content": "..."},
        {"content": None},
    ],
)
def test_a_context_that_changes_what_was_before_stays_full(change: dict[str, Any]) -> None:
    rows = steps(1, ["a", "b", "c"])
    state = rows[2]["state"]
    rows[2] = {**rows[2], "state": [*state[:3], {**state[3], **change}, *state[4:]]}
    done = finished(rows)
    assert [row["context_mode"] for row in done] == ["full", "delta", "full"]
    assert len(done[2]["context"]) == 6


def test_other_tools_keep_a_context_full() -> None:
    tools = pa.array([["x"], ["x"], ["y"], None])
    rows = finish(normalize(batch(steps(1, ["a", "b", "c", "d"]), tools=tools))).to_pylist()
    assert [row["context_mode"] for row in rows] == ["full", "delta", "full", "full"]


def test_padded_members_do_not_hinder_and_others_count() -> None:
    rows = steps(1, ["a", "b"])
    kind = pa.struct([("role", pa.string()), ("content", pa.string()), ("type", pa.string())])
    plain = batch(rows)
    for types, mode in ((None, "delta"), ("t", "full")):
        states = [[{**m, "type": types if m["role"] == "assistant" else None} for m in row["state"]] for row in rows]
        source = plain.set_column(0, "state", pa.array(states, pa.list_(kind)))
        assert finish(normalize(source)).column("context_mode").to_pylist() == ["full", mode]


def test_the_candidate_the_next_step_continues_is_selected() -> None:
    rows = finished(bandit([1, 0, 1]), generations="candidates")
    assert [(row["step_idx"], row["candidate_idx"]) for row in rows] == [(s, c) for s in range(3) for c in range(2)]
    assert [row["is_selected"] for row in rows] == [False, True, True, False, None, None]
    assert [row["context_mode"] for row in rows] == ["full"] * 2 + ["delta"] * 4
    assert contents(rows[2]) == contents(rows[3]) == ["seen 0"]
    assert {row["num_steps"] for row in rows} == {3}
    assert rows[2]["context_id"] == rows[3]["context_id"]
    assert rows[2]["content_id"] != rows[3]["content_id"]


def test_no_candidate_is_selected_if_none_or_several_are_continued() -> None:
    same = [
        {**row, "action": message("assistant", "step 0 by 1")} if row["timestep"] == 0 else row
        for row in bandit([1, 0])
    ]
    none = [{**row, "action": message("assistant", "other")} if row["timestep"] == 0 else row for row in bandit([1, 0])]
    for rows in (same, none):
        done = finished(rows, generations="candidates")
        assert [row["is_selected"] for row in done] == [None] * 4
        assert [row["context_mode"] for row in done] == ["full"] * 4


def test_candidates_with_other_contexts_stay_full() -> None:
    rows = bandit([1, 0])
    rows[3] = {**rows[3], "state": [message("user", "?")]}
    done = finished(rows, generations="candidates")
    assert [row["context_mode"] for row in done] == ["full"] * 4


def test_equal_rollouts_have_equal_ids_and_other_beginnings_others() -> None:
    rows = finished(
        [r for g in range(2) for r in steps(1, ["a", "b", "c"], generation=g)] + steps(1, ["z", "b"], generation=2)
    )
    first, second, third = rows[:3], rows[3:6], rows[6:]
    assert [r["context_id"] for r in first] == [r["context_id"] for r in second]
    assert [r["content_id"] for r in first] == [r["content_id"] for r in second]
    assert len({r["context_id"] for r in first}) == 3
    assert first[0]["prompt_id"] == third[0]["prompt_id"]
    assert first[1]["context_id"] != third[1]["context_id"]


def test_rows_of_rollouts_are_brought_together_in_order() -> None:
    rows = steps(2, ["a", "b"]) + steps(1, ["c", "d"])
    mixed = normalize(batch([rows[1], rows[2], rows[0], rows[3]]))
    with pytest.raises(ValueError, match="together"):
        finish(mixed)
    assert in_order(mixed).column("source_row").to_pylist() == [2, 0, 1, 3]


@SLOW
@given(act_prm_batches(odd=False), st.lists(st.integers(0, 12), max_size=3))
def test_finishing_does_not_depend_on_chunks_and_expanding_undoes_it(source: pa.RecordBatch, cuts: list[int]) -> None:
    whole = in_order(normalize(source))
    places = sorted({0, len(source), *(cut for cut in cuts if cut < len(source))})
    chunked = pa.concat_tables([whole.slice(a, b - a) for a, b in pairwise(places)])
    assert finish(chunked).to_pylist().__repr__() == finish(whole).to_pylist().__repr__()
    done = finish(whole)
    again = expand(done)
    assert set(again.column("context_mode").to_pylist()) == {"full"}
    assert again.column("context").to_pylist() == whole.column("context").to_pylist()
    assert finish(again).to_pylist().__repr__() == done.to_pylist().__repr__()


def test_no_rows_are_no_trouble() -> None:
    empty = normalize(batch(steps(0, ["a"])).slice(0, 0))
    assert expand(finish(in_order(empty))).num_rows == 0
