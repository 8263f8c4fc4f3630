from __future__ import annotations

import polars as pl
import pytest

from rollmill.expectations.steps import step_faults
from rollmill.expectations.units import whole_rollouts

Step = tuple[str, int | None, int, bool | None]


def faults(*steps: Step) -> list[set[str]]:
    frame = pl.DataFrame(
        steps,
        schema={"rollout": pl.String, "step": pl.Int64, "candidate": pl.Int32, "end": pl.Boolean},
        orient="row",
    )
    return [{name for name, is_bad in row.items() if is_bad} for row in step_faults(frame).to_dicts()]


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ([("a", 0, 0, False), ("a", 1, 0, True)], [set(), set()]),
        ([("a", 1, 0, True), ("a", 0, 0, False)], [set(), set()]),
        ([("a", 0, 0, None), ("a", 1, 0, None)], [set(), set()]),
        ([("a", 0, 0, False), ("a", 2, 0, True)], [set(), {"step_gap"}]),
        ([("a", 1, 0, True)], [{"step_gap"}]),
        ([("a", None, 0, True)], [{"step_unnumbered"}]),
        ([("a", 0, 0, False), ("a", 0, 0, False), ("a", 1, 0, True)], [set(), {"duplicate_step"}, set()]),
        ([("a", 0, 0, False), ("a", 0, 1, False)], [set(), set()]),
        ([("a", 0, 0, True), ("a", 1, 0, False)], [set(), {"steps_after_end"}]),
        ([("a", 0, 0, True), ("b", 0, 0, False), ("b", 1, 0, True)], [set(), set(), set()]),
    ],
)
def test_what_is_missing_twice_or_too_late(steps: list[Step], found: list[set[str]]) -> None:
    assert faults(*steps) == found


def test_a_rollout_is_put_aside_whole_under_its_first_reason() -> None:
    steps = pl.DataFrame({"rollout": ["a", "b", "a", "c", "b"]})
    bad = [
        pl.DataFrame({"row": [2], "reason": ["empty_response"], "reasons": [["empty_response"]]}),
        pl.DataFrame({"row": [0, 4], "reason": ["step_gap"] * 2, "reasons": [["step_gap"], ["step_gap"]]}),
    ]
    found = whole_rollouts(steps, bad)
    assert found["row"].to_list() == [0, 1, 2, 4]
    assert found["reason"].to_list() == ["step_gap", "step_gap", "empty_response", "step_gap"]
    assert found["reasons"].to_list()[2] == ["empty_response", "step_gap"]
