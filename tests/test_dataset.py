from __future__ import annotations

from pathlib import Path

import pytest

from rollmill.dataset import DatasetCheck, dataset_key
from tests.conftest import Mill, write_lines


@pytest.mark.parametrize(
    ("check", "place"),
    [
        (DatasetCheck("x", "info", True, 0, config="default", split="train"), "train"),
        (DatasetCheck("x", "info", True, 0, config="math", split="train_2", policy_step=2), "math/train_2"),
        (DatasetCheck("x", "info", True, 0, config="default", policy_step=40), "policy step 40"),
    ],
)
def test_a_place_is_named_as_people_know_it(check: DatasetCheck, place: str) -> None:
    assert check.place == place


def test_how_far_off_tells_the_worst_of_several() -> None:
    above = DatasetCheck("x", "info", False, 0.5, at_most=0.2)
    below = DatasetCheck("x", "info", False, -0.5, at_least=0.1)
    within = DatasetCheck("x", "info", True, 0.1, at_most=0.2)
    assert sorted([within, above, below], key=lambda check: check.off) == [within, above, below]


def test_the_key_covers_suites_and_units(mill: Mill, tmp_path: Path) -> None:
    write_lines(tmp_path / "lab" / "train.jsonl", [{"prompt": "a", "response": "b"}])
    plan = mill.plan(tmp_path / "lab")
    key = dataset_key(plan, ["s1", "s2"])
    assert key == dataset_key(mill.plan(tmp_path / "lab"), ["s1", "s2"])
    write_lines(tmp_path / "lab" / "test.jsonl", [{"prompt": "a", "response": "b"}])
    keys = {key, dataset_key(plan, ["s1"]), dataset_key(mill.plan(tmp_path / "lab"), ["s1", "s2"])}
    assert len(keys) == 3
