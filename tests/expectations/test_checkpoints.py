from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from rollmill.expectations.checkpoints import checkpoint_measures, sequence_measures
from rollmill.expectations.suites.dataset import MOST_CHANGE
from tests.expectations.rows import Dataset

STEPS = range(1, 13)


def run_of(
    folder: Path,
    *,
    steps: Sequence[int] = STEPS,
    rewards: dict[int, float] | None = None,
    sizes: dict[int, int] | None = None,
    counts: dict[int, int] | None = None,
) -> Dataset:
    """A split per step, growing a little from one to the next, but for what is given."""
    dataset = Dataset(folder)
    for at, step in enumerate(steps):
        level = (rewards or {}).get(step, 0.3 + 0.01 * at + 0.005 * (at % 2))
        size = (sizes or {}).get(step, 1000 + 10 * at + 5 * (at % 3))
        rows = (counts or {}).get(step, 200 + 4 * (at % 3))
        noise = [0.2 if n % 2 else -0.2 for n in range(rows)]
        dataset.add(
            "lab",
            f"train_{step}",
            rows,
            policy_step=step,
            reward=[level + n for n in noise],
            completion_bytes=[int(size * (1 + n)) for n in noise],
        )
    return dataset


def jumps(dataset: Dataset) -> set[tuple[str, int]]:
    found = checkpoint_measures(dataset.facts, dataset.places)
    return {
        (name, step)
        for name in ("reward_jump", "length_jump", "rows_jump")
        for step in found.filter(pl.col(name) > MOST_CHANGE)["policy_step"]
    }


def test_steady_growth_is_no_jump(tmp_path: Path) -> None:
    dataset = run_of(tmp_path)
    found = checkpoint_measures(dataset.facts, dataset.places)
    assert found["policy_step"].to_list() == list(STEPS)
    assert found["split"].to_list() == [f"train_{step}" for step in STEPS]
    assert found["reward_jump"].null_count() == 1
    assert jumps(dataset) == set()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"rewards": {7: 0.9}}, {("reward_jump", 7), ("reward_jump", 8)}),
        ({"sizes": {7: 9000}}, {("length_jump", 7), ("length_jump", 8)}),
        ({"counts": {7: 20}}, {("rows_jump", 7), ("rows_jump", 8)}),
        ({"rewards": {7: 0.4}, "sizes": {7: 1200}, "counts": {7: 300}}, set()),
    ],
)
def test_a_checkpoint_unlike_its_neighbours_is_told(
    tmp_path: Path, changed: dict[str, dict[int, float]], told: set[tuple[str, int]]
) -> None:
    assert jumps(run_of(tmp_path, **changed)) == told  # type: ignore[arg-type]


def test_few_checkpoints_or_far_ones_are_not_compared(tmp_path: Path) -> None:
    assert jumps(run_of(tmp_path, steps=range(1, 6), rewards={3: 0.9})) == set()
    far = [*range(1, 7), *range(89, 95)]
    assert jumps(run_of(tmp_path, steps=far, rewards={step: 0.9 for step in far if step > 80})) == set()


def test_small_samples_differ_by_chance(tmp_path: Path) -> None:
    """Four rows each: a mean moves by as much as a row does."""
    dataset = run_of(tmp_path, counts=dict.fromkeys(STEPS, 4), rewards={7: 0.9})
    assert not any(name == "reward_jump" for name, _ in jumps(dataset))


def test_splits_of_one_checkpoint_count_together(tmp_path: Path) -> None:
    dataset = run_of(tmp_path)
    dataset.add("lab", "train_extra", 10, policy_step=12, reward=0.3)
    found = checkpoint_measures(dataset.facts, dataset.places)
    assert found["split"].to_list() == [*(f"train_{step}" for step in range(1, 12)), None]


def test_data_without_checkpoints_have_none(tmp_path: Path) -> None:
    dataset = Dataset(tmp_path).add("lab", "train", 5)
    assert checkpoint_measures(dataset.facts, dataset.places).height == 0


@pytest.mark.parametrize(
    ("splits", "lost", "skipped"),
    [
        (["train_1", "train_2", "train_4"], [1], [0]),
        (["train_1", "train_2", "train_3"], [0], [0]),
        (["train_10", "train_20", "train_40"], [1], [0]),
        (["train_1", "train_100"], [0], [0]),
        (["train_1"], [0], [0]),
        (["train_1", "train_2", "train_5", "train_9"], [0], [5]),
        ([f"step-{n}" for n in range(1, 201) if n not in {50, 51, 70}], [3], [0]),
        (["train", "test"], [], []),
    ],
)
def test_missing_numbers_are_counted(splits: list[str], lost: list[int], skipped: list[int]) -> None:
    places = pl.DataFrame({"source": "lab", "config": "default", "split": splits}).with_row_index("place")
    found = sequence_measures(places)
    assert (found["splits_lost"].to_list(), found["splits_skipped"].to_list()) == (lost, skipped)


def test_sequences_are_told_apart_by_name_and_source() -> None:
    rows = [("a", "train_1"), ("a", "train_3"), ("a", "test_1"), ("a", "test_2"), ("b", "train_2"), ("b", "train_4")]
    places = pl.DataFrame(
        {"source": [a for a, _ in rows], "config": "default", "split": [b for _, b in rows]}
    ).with_row_index("place")
    found = sequence_measures(places.vstack(places.clear()))
    assert found.select("source", "split").rows() == [("a", "train_*"), ("a", "test_*"), ("b", "train_*")]
