from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollmill.declared import compare_plan
from rollmill.generator import write_act_prm
from tests.conftest import Mill

Found = dict[str, tuple[Any, Any, str]]


def say(folder: Path, **facts: Any) -> None:
    """Change what the card says."""
    text = (folder / "README.md").read_text()
    for key, value in facts.items():
        text = re.sub(rf"^- \*\*{key}\*\*: `.*`$", f"- **{key}**: `{value}`", text, flags=re.MULTILINE)
    (folder / "README.md").write_text(text)


def compared(mill: Mill, folder: Path) -> Found:
    found = compare_plan(mill.plan(folder), {})
    return {c.field: (c.declared, c.observed, c.verdict) for c in found if c.file == "README.md"}


def replace_column(folder: Path, name: str, values: list[Any] | None) -> None:
    (path,) = (folder / "data").iterdir()
    table = pq.read_table(path)
    at = table.schema.get_field_index(name)
    kept = table.remove_column(at)
    pq.write_table(kept if values is None else kept.append_column(name, pa.array(values)), path)


@pytest.fixture
def steps(tmp_path: Path) -> Path:
    return write_act_prm(tmp_path / "steps", scale=0.01)


def test_episodes_are_steps_and_so_are_trajectories_of_a_generator_that_draws_steps(mill: Mill, steps: Path) -> None:
    assert compared(mill, steps) == {
        "num_episodes": (102, 102, "equal"),
        "num_trajectories": (102, 102, "equal"),
        "group_size": (1, 1, "equal"),
        "batch_idx": (40, "40", "equal"),
        "split": ("train_all", "train_all", "equal"),
    }


def test_trajectories_of_other_generators_are_rollouts_by_their_key(mill: Mill, steps: Path) -> None:
    say(steps, generator_config="nobandit_aprm")
    assert compared(mill, steps)["num_trajectories"] == (102, 9, "differs")
    say(steps, num_trajectories=9)
    assert compared(mill, steps)["num_trajectories"] == (9, 9, "equal")


def test_a_stale_card_is_found_out(mill: Mill, steps: Path) -> None:
    say(steps, num_episodes=103, group_size=4, batch_idx=39, split="train")
    assert compared(mill, steps) == {
        "num_episodes": (103, 102, "differs"),
        "num_trajectories": (102, 102, "equal"),
        "group_size": (4, 1, "differs"),
        "batch_idx": (39, "40", "differs"),
        "split": ("train", "train_all", "differs"),
    }


def test_candidates_are_counted_over_files(mill: Mill, tmp_path: Path) -> None:
    folder = write_act_prm(tmp_path / "steps", scale=0.005, generations=4, files=3)
    found = compared(mill, folder)
    assert {verdict for _, _, verdict in found.values()} == {"equal"}
    assert found["group_size"] == (4, 4, "equal")


def test_a_batch_id_that_counts_tasks_or_is_not_there_is_not_compared(mill: Mill, steps: Path) -> None:
    replace_column(steps, "batch_id", [i % 9 for i in range(102)])
    assert compared(mill, steps)["batch_idx"] == (40, "0, 1, 2, … (9)", "unchecked")
    replace_column(steps, "batch_id", [39] * 2 + [40] * 100)
    assert compared(mill, steps)["batch_idx"] == (40, "39, 40", "differs")
    replace_column(steps, "batch_id", None)
    assert compared(mill, steps)["batch_idx"] == (40, None, "unchecked")


def test_facts_that_are_no_numbers_declare_nothing(mill: Mill, steps: Path) -> None:
    say(steps, num_episodes="many", num_trajectories="-4", group_size="9" * 400, batch_idx="4.0")
    assert compared(mill, steps).keys() == {"split"}


def test_facts_about_all_rows_are_not_compared_with_a_part_of_them(mill: Mill, steps: Path) -> None:
    found = compare_plan(mill.plan({"uri": str(steps), "splits": ["train"]}), {})
    assert {c.field for c in found} == {"features"}
