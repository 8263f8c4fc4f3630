from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from rollmill.generator import plan_prompt_response, prompt_response_batches, write_prompt_response
from rollmill.sources.card import declared_splits, front_matter
from tests.conftest import Mill
from tests.generator.files import files_of, split_rows


def test_the_same_scale_and_seed_give_the_same_bytes(tmp_path: Path) -> None:
    one = write_prompt_response(tmp_path / "one", scale=0.003, seed=7)
    two = write_prompt_response(tmp_path / "two", scale=0.003, seed=7)
    other = write_prompt_response(tmp_path / "other", scale=0.003, seed=8)
    assert files_of(one) == files_of(two)
    assert files_of(one) != files_of(other)


def test_the_full_size_is_that_of_the_seed() -> None:
    rows = size = 0
    prompts = set()
    for batch in prompt_response_batches(1.0):
        assert batch.schema.names == ["response", "prompt"]
        rows += batch.num_rows
        size += sum(pc.sum(pc.binary_length(column)).as_py() for column in batch.columns)
        prompts.update(batch.column("prompt").to_pylist())
    assert rows == 16_710
    assert size == pytest.approx(370.6e6, rel=0.02)
    assert len(prompts) == pytest.approx(16_710 / 8, rel=0.01), "prompts repeat as samples of a group do"


def test_the_card_agrees_with_the_file(tmp_path: Path) -> None:
    folder = write_prompt_response(tmp_path, scale=0.002)
    path = folder / "data" / "train-00000-of-00001.parquet"
    table = pq.read_table(path)
    card = front_matter((folder / "README.md").read_text("utf-8"))
    size = sum(pc.sum(pc.binary_length(column)).as_py() for column in table.columns)
    assert declared_splits(card, "default") == {"train": {"num_examples": len(table), "num_bytes": size}}
    assert len(table) == 33
    assert card["dataset_info"]["download_size"] == path.stat().st_size
    assert [feature["name"] for feature in card["dataset_info"]["features"]] == table.column_names


def test_the_tiniest_scale_has_a_row(tmp_path: Path) -> None:
    assert len(pq.read_table(write_prompt_response(tmp_path, scale=0.0) / "data")) == 1


def test_all_rows_are_good_and_the_card_raises_no_warning(mill: Mill, tmp_path: Path) -> None:
    milled = mill(write_prompt_response(tmp_path / "reinforce", scale=0.002), validation={"max_quarantine": 0.0})
    assert milled.version.total.rows_published == 33
    assert milled.report.warnings == []
    assert {compared.verdict for compared in milled.report.declared_vs_observed} == {"equal", "close"}


def test_the_texts_are_those_of_the_first_version(tmp_path: Path) -> None:
    digest = hashlib.sha256()
    for row in split_rows(write_prompt_response(tmp_path, scale=0.003, seed=7), "train"):
        digest.update(f"{row['response']}\n{row['prompt']}\n".encode())
    assert digest.hexdigest() == "875e44106c3489e50d547eac53ff3da1356365764f5973abaf88905a06ec70c0"


def test_faults_lie_where_the_plan_says_and_nowhere_else(tmp_path: Path) -> None:
    asked = {"empty_response": 4}
    plan = plan_prompt_response(scale=0.003, seed=7, faults=asked)
    good = split_rows(write_prompt_response(tmp_path / "good", scale=0.003, seed=7), "train")
    bad = split_rows(write_prompt_response(tmp_path / "bad", scale=0.003, seed=7, faults=asked), "train")
    assert len(bad) == plan.rows == 50
    assert [i for i in range(50) if good[i] != bad[i]] == [fault.row for fault in plan.faults]
    assert [bad[fault.row]["response"] for fault in plan.faults] == [fault.value for fault in plan.faults]
    assert {fault.value for fault in plan.faults} == {"", " \n", None}


def test_a_reward_fault_needs_a_reward() -> None:
    with pytest.raises(ValueError, match="no such fault here: reward_missing"):
        plan_prompt_response(faults={"reward_missing": 1})
