"""Each measure tells of data that have the fault, and has nothing to say of data that have not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rollmill.expectations.measures import split_measures
from rollmill.expectations.suites.dataset import MEASURES, SPLITS
from tests.expectations.rows import Dataset

ROWS = 400


def halves(first: Any, second: Any) -> list[Any]:
    return [first, second] * (ROWS // 2)


def but(values: list[Any], count: int, value: Any) -> list[Any]:
    """Put a value in place of the last few."""
    return [*values[:-count], *[value] * count]


GROUPS = [n // 4 for n in range(ROWS)]
PREDS = [(n % 10) / 10 for n in range(ROWS)]
TARGETS = [1.0 if n % 10 > 4 else 0.0 for n in range(ROWS)]
CRITIC = {"producer_role": "critic", "value_pred": PREDS, "value_target": TARGETS}
LENGTHS = [1000 + 7 * n for n in range(ROWS)]

CASES: list[tuple[str, dict[str, Any], float | None]] = [
    ("same_reward_rows", {"reward": 0.5}, 400),
    ("same_reward_rows", {"reward": halves(0.5, 0.4)}, 0),
    ("same_reward_rows", {"reward": None}, None),
    ("reward_off_support", {"reward": but(halves(0.0, 1.0), 4, 37.0)}, 0.01),
    ("reward_off_support", {"reward": but(halves(-1.0, 0.0), 4, 1.0)}, 0),
    ("reward_off_support", {"reward": [n / ROWS for n in range(ROWS)]}, None),
    ("reward_off_support", {"reward": but([0.0] * ROWS, 4, 37.0)}, None),  # sparse
    ("target_off_support", {"value_target": but(halves(0.0, 1.0), 2, 0.5)}, 0.005),
    ("likelihood_off_range", {"reward": but(halves(0.2, 0.3), 4, 1.5), "reward_kind": "action_likelihood"}, 0.01),
    ("likelihood_off_range", {"reward": halves(0.2, 1.0), "reward_kind": "action_likelihood"}, 0),
    ("likelihood_off_range", {"reward": halves(0.2, 7.0)}, None),
    ("reward_unrecorded", {"reward": but(halves(0.0, 1.0), 40, None)}, 0.1),
    ("reward_unrecorded", {"reward": None}, None),
    ("same_advantage_rows", {"advantage": 0.0}, 400),
    ("same_advantage_rows", {"advantage": halves(-1.0, 1.0)}, 0),
    ("advantage_not_computed", {"advantage": halves(None, 1.0), "advantage_nulled": halves(True, False)}, 0.5),
    ("advantage_not_computed", {"advantage": None}, None),
    ("flat_groups", {"group_key": GROUPS, "reward": 1.0}, 1),
    ("flat_groups", {"group_key": GROUPS, "reward": halves(0.0, 1.0)}, 0),
    ("flat_groups", {"group_key": GROUPS, "reward": 1.0, "rollout_reward": halves(0.0, 1.0)}, 0),
    ("flat_groups", {"group_key": GROUPS, "reward": 1.0, "producer_role": "critic"}, None),
    ("flat_groups", {"group_key": list(range(ROWS)), "reward": 1.0}, None),  # of one sample each
    ("value_bias", {**CRITIC, "value_pred": [p + 0.5 for p in PREDS]}, 0.45),
    ("value_bias", CRITIC, 0.05),
    ("value_bias", {"value_pred": PREDS}, None),
    ("value_correlation", {**CRITIC, "value_target": TARGETS[::-1]}, -0.87),
    ("value_correlation", CRITIC, 0.87),
    ("value_correlation", {**CRITIC, "value_pred": 0.5}, None),
    ("score_unexplained", {**CRITIC, "reward": [1 - abs(p - t) for p, t in zip(PREDS, TARGETS, strict=True)]}, None),
    ("truncated_share", {"truncated": but([False] * ROWS, 100, True)}, 0.25),
    ("truncated_share", {"finish_reason": but(["stop"] * ROWS, 100, "length")}, 0.25),
    ("truncated_share", {"truncated": None}, None),
    ("capped_share", {"completion_tokens": but([n + 100 for n in range(ROWS)], 40, 1024)}, 0.1),
    ("capped_share", {"completion_bytes": but(LENGTHS, 40, 4096)}, 0.1),
    ("capped_share", {"completion_bytes": LENGTHS}, 0.015),
    ("capped_share", {"completion_bytes": 1200}, None),  # all alike: made that way
    ("capped_share", {"completion_tokens": 1}, None),
    ("longest_completion", {"completion_bytes": but([10] * ROWS, 1, 100_000)}, 384.7),
    ("longest_completion", {"completion_bytes": LENGTHS}, 1.58),
    ("longest_completion", {"completion_bytes": 2**31 - 1}, 1.0),  # whose sum is beyond 32 bits
    ("duplicate_share", {"content_key": but(list(range(ROWS)), 40, 0)}, 0.1),
    ("hidden_observations", {"hidden_messages": halves(0, 1), "context_messages": 2}, 0.25),
    ("hidden_observations", {}, 0),
]


@pytest.mark.parametrize(("code", "columns", "expected"), CASES)
def test_a_split_is_measured(tmp_path: Path, code: str, columns: dict[str, Any], expected: float | None) -> None:
    dataset = Dataset(tmp_path).add("lab", "train", ROWS, **columns)
    found = split_measures(dataset.facts, dataset.places)
    assert found.columns == ["source", "config", "split", *(measure.code for measure in SPLITS)]
    assert found[code].to_list() == [pytest.approx(expected, abs=0.01 if expected and expected < 1 else 0.1)]


@pytest.mark.parametrize(("code", "columns"), [(code, columns) for code, columns, _ in CASES])
def test_few_rows_say_nothing(tmp_path: Path, code: str, columns: dict[str, Any]) -> None:
    few = {name: value[:20] if isinstance(value, list) else value for name, value in columns.items()}
    dataset = Dataset(tmp_path).add("lab", "train", 20, **few)
    found = split_measures(dataset.facts, dataset.places)
    counted = {"reward_unrecorded", "advantage_not_computed", "hidden_observations", "likelihood_off_range"}
    assert code in counted or found[code].to_list() == [None]


def test_a_score_that_follows_but_for_some_pairs_is_told(tmp_path: Path) -> None:
    preds = [n / 100 for n in range(200)] * 2
    scores = [*([0.5] * 398), 0.1, 0.1]
    dataset = Dataset(tmp_path).add("lab", "train", ROWS, value_pred=preds, value_target=0.0, reward=scores)
    found = split_measures(dataset.facts, dataset.places)
    assert found["score_unexplained"].to_list() == [pytest.approx(0.01)]
    halved = Dataset(tmp_path).add("lab", "train", ROWS, value_pred=preds, value_target=0.0, reward=list(range(ROWS)))
    assert split_measures(halved.facts, halved.places)["score_unexplained"].to_list() == [None]


def test_prompts_that_training_has_seen_are_told_per_split_held_out(tmp_path: Path) -> None:
    dataset = (
        Dataset(tmp_path)
        .add("a", "train", 100, prompt_key=list(range(100)))
        .add("a", "test", 40, prompt_key=[*range(90, 110)] * 2)
        .add("b", "validation", 10, prompt_key=list(range(500, 510)))
    )
    found = split_measures(dataset.facts, dataset.places)
    assert found["prompts_seen_in_training"].to_list() == [None, 0.5, 0.0]


def test_several_units_of_a_split_are_measured_together(tmp_path: Path) -> None:
    dataset = Dataset(tmp_path).add("lab", "train", 200, reward=0.0).add("lab", "train", 200, reward=1.0)
    found = split_measures(dataset.facts, dataset.places)
    assert (found.height, found["same_reward_rows"].to_list()) == (1, [0.0])


def test_every_measure_is_judged_by_its_column() -> None:
    for code, measure in MEASURES.items():
        assert (measure.check.kwargs["column"], measure.check.reason) == (code, code)
        assert measure.check.severity != "critical"
        assert {"min_value", "max_value"} & measure.check.kwargs.keys()
