from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollmill.generator import plan_ppo_critic, write_ppo_critic
from rollmill.generator.ppo_critic_rows import arrow_bytes, split_batches
from rollmill.sources.card import declared_splits, front_matter
from tests.generator.files import files_of, split_rows

SMALL: dict[str, Any] = {"scale": 0.001, "splits": 7}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ppo_critic(tmp_path_factory.mktemp("critic"), **SMALL)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_full_size_is_that_of_the_seed(seed: int) -> None:
    plan = plan_ppo_critic(seed=seed)
    rows = [split.rows for split in plan.splits]
    assert (len(rows), min(rows), max(rows)) == (127, 11_920, 40_469)
    assert plan.rows == sum(rows)
    assert plan.num_bytes == pytest.approx(27.98e9, rel=0.0001)


def test_the_bytes_are_those_planned() -> None:
    plan = plan_ppo_critic(splits=2)
    split = plan.splits[1]
    batches = [batch for _, batch in zip(range(2), split_batches(plan, split), strict=False)]
    assert [len(batch) for batch in batches] == [4096, 4096]
    assert sum(map(arrow_bytes, batches)) == pytest.approx(8192 * split.row_bytes, rel=0.015)
    assert arrow_bytes(batches[0]) == pytest.approx(batches[0].nbytes, rel=0.0001), "as datasets counts num_bytes"


def test_splits_are_pushed_out_of_order_with_gaps_in_their_numbers() -> None:
    numbers = [split.iteration for split in plan_ppo_critic().splits]
    assert numbers[:5] == [89, 90, 91, 2, 1]
    assert len(set(numbers)) == 127
    assert max(numbers) - min(numbers) > 127
    assert {1, 11, 100} <= set(numbers), "names that begin with the name of another"
    most = [split.iteration for split in plan_ppo_critic(splits=170).splits]
    assert len(set(most)) == 170


def test_more_splits_leave_the_others_alone(small: Path, tmp_path: Path) -> None:
    grown = files_of(write_ppo_critic(tmp_path, scale=0.001, splits=8))
    before = files_of(small)
    assert {path for path, data in before.items() if grown[path] != data} == {"README.md"}
    assert len(grown) == len(before) + 1


def test_files_and_card_agree(small: Path) -> None:
    plan = plan_ppo_critic(**SMALL)
    card = front_matter((small / "README.md").read_text("utf-8"))
    declared = declared_splits(card, "default")
    assert list(declared) == ["train_89", "train_90", "train_91", "train_2", "train_1", "train_92", "train_93"]
    assert {split.name: split.rows for split in plan.splits} == {s: f["num_examples"] for s, f in declared.items()}
    paths = {split: small / "data" / f"{split}-00000-of-00001.parquet" for split in declared}
    tables = {split: pq.read_table(path) for split, path in paths.items()}
    assert {s: len(table) for s, table in tables.items()} == {s: facts["num_examples"] for s, facts in declared.items()}
    for split, table in tables.items():
        assert sum(map(arrow_bytes, table.to_batches())) == declared[split]["num_bytes"]
    info = card["dataset_info"]
    assert info["download_size"] == sum(path.stat().st_size for path in paths.values())
    assert info["dataset_size"] == sum(facts["num_bytes"] for facts in declared.values())
    listed = card["configs"][0]["data_files"]
    assert [entry["split"] for entry in listed] == [*list(declared)[:3], "train_1", "train_2", "train_92", "train_93"]
    assert all(entry["path"] == f"data/{entry['split']}-*" for entry in listed)


def test_columns_are_those_of_the_seed(small: Path) -> None:
    schema = pq.read_schema(small / "data" / "train_1-00000-of-00001.parquet")
    numbers = [(name, pa.float64()) for name in ("pred", "target", "score")]
    assert schema.equals(pa.schema([("prompt", pa.string()), ("response", pa.string()), *numbers]))
    card = front_matter((small / "README.md").read_text("utf-8"))
    dtypes = ["string", "string", "float64", "float64", "float64"]
    features = [{"name": name, "dtype": dtype} for name, dtype in zip(schema.names, dtypes, strict=True)]
    assert card["dataset_info"]["features"] == features


def test_a_row_is_a_judgement(small: Path) -> None:
    rows = split_rows(small, "train_89")
    for row in rows:
        assert float(row["response"].rpartition("Value: ")[2]) == row["pred"]
        assert 0 <= row["pred"] <= 1
        assert row["score"] == 1 - abs(row["pred"] - row["target"])
    assert {row["target"] for row in rows} == {0.0, 1.0}


def test_prompts_repeat_and_share_prefixes_and_their_target(small: Path) -> None:
    rows = split_rows(small, "train_89")
    group = rows[:8]
    assert list(Counter(row["prompt"] for row in group).values()) == [2, 2, 2, 2]
    answers = [row["prompt"].rpartition("\n\n")[0] for row in group[::2]]
    assert all(longer.startswith(shorter) for shorter, longer in pairwise(answers))
    assert len({row["response"] for row in rows}) == len(rows)
    targets: dict[str, set[float]] = {}
    for row in rows:
        targets.setdefault(row["prompt"], set()).add(row["target"])
    assert {len(found) for found in targets.values()} == {1}


def test_row_groups_are_of_4096_rows(tmp_path: Path) -> None:
    folder = write_ppo_critic(tmp_path, scale=0.18, splits=1)
    footer = pq.read_metadata(folder / "data" / "train_89-00000-of-00001.parquet")
    assert footer.num_rows > 4096
    assert footer.row_group(0).num_rows == 4096


def test_the_same_options_give_the_same_bytes(small: Path, tmp_path: Path) -> None:
    assert files_of(write_ppo_critic(tmp_path / "again", **SMALL)) == files_of(small)
    other = files_of(write_ppo_critic(tmp_path / "other", **SMALL, seed=1))
    assert not set(other.values()) & set(files_of(small).values())


def test_faults_lie_where_the_plan_says_and_nowhere_else(small: Path, tmp_path: Path) -> None:
    asked = {"empty_response": 4, "reward_not_finite": 5, "reward_missing": 3}
    plan = plan_ppo_critic(**SMALL, faults=asked)
    assert Counter(fault.reason for fault in plan.faults) == asked
    folder = write_ppo_critic(tmp_path, **SMALL, faults=asked)
    planned = {(fault.split, fault.row): fault for fault in plan.faults}
    for split in plan.splits:
        for i, (good, bad) in enumerate(
            zip(split_rows(small, split.name), split_rows(folder, split.name), strict=True)
        ):
            if fault := planned.get((split.name, i)):
                column = "response" if fault.reason == "empty_response" else "score"
                assert bad.pop(column) == fault.value or math.isnan(fault.value)
                del good[column]
            assert bad == good


def test_faults_can_be_kept_to_one_split() -> None:
    plan = plan_ppo_critic(**SMALL, faults={"empty_response": 12}, fault_split="train_1")
    assert {fault.split for fault in plan.faults} == {"train_1"}
    assert sorted(fault.row for fault in plan.faults) == list(range(12)), "all of it: a dead split"


def test_what_can_not_be_done_is_refused() -> None:
    with pytest.raises(ValueError, match="171 splits: 1 to 170"):
        plan_ppo_critic(splits=171)
    with pytest.raises(ValueError, match="no split train_3"):
        plan_ppo_critic(splits=5, fault_split="train_3")
