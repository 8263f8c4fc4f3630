from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rollmill.expectations.facts import RolloutFacts, judged
from tests.expectations.rows import CONSTANTS, Dataset

STEPS = [(1, 0, 0), (1, 1, 0), (1, 1, 1), (2, 0, 0)]
"""Rollout, step and candidate of two good rollouts: of two steps, the second with two candidates, and of one."""

WRONG = {
    "num_steps_right": False,
    "is_last_right": False,
    "step_gap": True,
    "candidate_twice": True,
    "selected_twice": True,
    "prompt_moved": True,
    "starts_within": True,
    "all_finite": False,
}


def rollouts(steps: list[tuple[int, int, int]], **columns: list[Any]) -> pl.DataFrame:
    """Facts of rollouts with num_steps and is_last as they should be, unless given."""
    frame = pl.DataFrame(steps, schema=["rollout_key", "step_idx", "candidate_idx"], orient="row")
    right = frame.with_columns(
        num_steps=pl.col("step_idx").n_unique().over("rollout_key"),
        is_last=pl.col("step_idx") == pl.col("step_idx").max().over("rollout_key"),
        prompt_key=pl.col("rollout_key"),
    )
    rest = {name: [value] * len(steps) for name, value in CONSTANTS.items() if name not in right.columns}
    nothing = {name: [None] * len(steps) for name in ("is_selected", "finish_reason", "rollout_reward_kind")}
    return right.with_columns(**{k: pl.Series(v) for k, v in (rest | nothing | columns).items()})


def faults(frame: pl.DataFrame) -> list[set[str]]:
    found = judged(frame)
    return [{name for name, wrong in WRONG.items() if row[name] == wrong} for row in found.to_dicts()]


def test_good_rollouts_have_no_fault() -> None:
    assert faults(rollouts(STEPS, is_selected=[None, True, False, None])) == [set()] * 4


@pytest.mark.parametrize(
    ("steps", "columns", "found"),
    [
        (STEPS, {"num_steps": [2, 2, 3, 1]}, [set(), set(), {"num_steps_right"}, set()]),
        (STEPS, {"is_last": [True, True, True, True]}, [{"is_last_right"}, set(), set(), set()]),
        (STEPS, {"is_last": [False, True, True, False]}, [set(), set(), set(), {"is_last_right"}]),
        (STEPS, {"prompt_key": [1, 1, 5, 2]}, [set(), set(), {"prompt_moved"}, set()]),
        (STEPS, {"context_mode": ["full", "delta", "delta", "delta"]}, [set(), set(), set(), {"starts_within"}]),
        (STEPS, {"is_selected": [True, True, True, True]}, [set(), {"selected_twice"}, {"selected_twice"}, set()]),
        (STEPS, {"all_finite": [True, False, True, True]}, [set(), {"all_finite"}, set(), set()]),
        ([(1, 0, 0), (1, 2, 0)], {}, [set(), {"step_gap"}]),
        ([(1, 4, 0), (1, 5, 0)], {}, [set(), set()]),
        ([(1, 0, 0), (1, 1, 0), (1, 1, 0)], {}, [set(), set(), {"candidate_twice"}]),
    ],
)
def test_a_fault_is_found_in_its_row(
    steps: list[tuple[int, int, int]], columns: dict[str, Any], found: list[set[str]]
) -> None:
    assert faults(rollouts(steps, **columns)) == found


def test_steps_that_go_back_are_found() -> None:
    frame = rollouts([(1, 1, 0), (1, 0, 0)], is_last=[False, True])
    assert faults(frame)[1] >= {"step_gap"}


def test_rollouts_with_rows_that_were_kept_may_have_gaps_but_nothing_else() -> None:
    steps = [(1, 0, 0), (1, 2, 0), (1, 2, 0), (2, 0, 0), (2, 2, 0)]
    kept = {"is_kept": [False, True, False, False, False], "all_finite": [False, True, True, True, True]}
    assert faults(rollouts(steps, **kept)) == [{"all_finite"}, set(), {"candidate_twice"}, set(), {"step_gap"}]


def test_the_stream_gives_every_row_once_and_marks_keys_that_come_twice(tmp_path: Path) -> None:
    dataset = Dataset(tmp_path).add("a", "train", 3).add("a", "test", 2)
    keys = (pl.Series([2, 5], dtype=pl.UInt64), pl.Series([1], dtype=pl.UInt64))
    stream = RolloutFacts(dataset.units, *keys)
    frames = list(stream)
    assert all(frame.schema == stream.schema for frame in frames)
    whole = pl.concat(frames)
    assert whole["row_key_twice"].to_list() == [False, True, False, False, True]
    assert whole["rollout_key_twice"].to_list() == [True, False, False, False, False]
    assert pl.concat(list(stream)).equals(whole)


def test_places_and_their_facts_belong_together(tmp_path: Path) -> None:
    dataset = Dataset(tmp_path).add("a", "train", 2).add("a", "dev", 1).add("b", "train", 1).add("b", "train", 1)
    assert dataset.places.rows() == [
        (0, "a", "default", "train", "train"),
        (1, "a", "default", "dev", "validation"),
        (2, "b", "default", "train", "train"),
    ]
    assert dataset.facts.select("place", "row_key").collect().rows() == [(0, 1), (0, 2), (1, 3), (2, 4), (2, 5)]
