from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollmill.dataset import STAGE
from rollmill.errors import LayoutFaultError
from rollmill.expectations.dataset import confirmed, key_of, refuse, validate_dataset
from rollmill.expectations.suites.dataset import MEASURES
from rollmill.expectations.suites.unified import UNIFIED
from rollmill.facts import FACTS, facts_of
from rollmill.generator import write_act_prm, write_ppo_critic, write_prompt_response
from rollmill.layouts.prompt_response import PromptResponse
from rollmill.store import Manifest
from tests.conftest import Mill, Milled, write_lines, write_parquet
from tests.expectations.rows import Dataset

CODES = {str(check.reason) for check in UNIFIED.checks}


@pytest.fixture
def seeds(mill: Mill, tmp_path: Path) -> Milled:
    """Small sources of the three seeds' shapes, one of them also with candidates."""
    write_act_prm(tmp_path / "steps", scale=0.03)
    write_act_prm(tmp_path / "candidates", scale=0.02, generations=4)
    write_ppo_critic(tmp_path / "critic", scale=0.005, splits=12)
    write_prompt_response(tmp_path / "reinforce", scale=0.01)
    return mill(*(tmp_path / name for name in ("steps", "candidates", "critic", "reinforce")))


def test_good_data_raise_no_warning(seeds: Milled) -> None:
    assert [line for line in seeds.report.warnings if any(code in line for code in MEASURES)] == []
    checks = seeds.report.dataset_checks
    assert {check["check"] for check in checks if check["severity"] == "critical"} == CODES
    assert all(check["success"] for check in checks if check["severity"] != "info")
    told = {(check["check"], check["source"]) for check in checks if not check["success"]}
    assert told == {
        ("advantage_not_computed", "steps"),
        ("advantage_not_computed", "candidates"),
        ("hidden_observations", "steps"),
        ("hidden_observations", "candidates"),
        ("splits_skipped", "critic"),
    }


def test_numbers_are_given_where_all_is_well_too(seeds: Milled) -> None:
    checks = [check for check in seeds.report.dataset_checks if check["check"] == "longest_completion"]
    assert {(check["source"], check["success"], check["at_most"]) for check in checks} >= {("critic", True, 50.0)}
    assert all(1 < check["observed"] < 5 for check in checks)


def test_what_is_found_is_kept_as_results_of_great_expectations(seeds: Milled) -> None:
    manifest = seeds.store.get(STAGE, key_of(seeds.plan))
    assert manifest is not None
    assert manifest.facts["checks"] == seeds.report.dataset_checks
    results = manifest.facts["results"]
    assert [result["suite_name"] for result in results] == [
        "unified",
        "dataset_splits",
        "dataset_checkpoints",
        "dataset_sequences",
    ]
    assert [len(results[0]["results"]), results[0]["success"]] == [len(UNIFIED.checks), True]
    json.dumps(results, allow_nan=False)


def test_a_dataset_that_was_judged_is_not_read_again(seeds: Milled) -> None:
    for unit in seeds.plan.units:
        facts = seeds.done[unit.normalize_key].payload(FACTS)
        assert facts is not None
        seeds.store.object_path(facts.sha256).unlink()
    again = validate_dataset(seeds.plan, seeds.done, seeds.store)
    assert again.cached
    assert again.manifest.facts["checks"] == seeds.report.dataset_checks


def test_a_dataset_without_rows_has_nothing_to_judge(mill: Mill, tmp_path: Path) -> None:
    write_lines(tmp_path / "lab" / "train.jsonl", [{"prompt": "a", "response": "b"}])
    plan = mill.plan(tmp_path / "lab")
    store = mill(tmp_path / "lab").store
    other = mill.plan(tmp_path / "lab", name="other", unit_bytes=1 << 21)
    nothing = {unit.normalize_key: Manifest("normalize", unit.normalize_key) for unit in other.units}
    assert key_of(plan) == key_of(other), "neither name nor limits decide what is found"
    (store.root / "artifacts" / STAGE / f"{key_of(plan)}.json").unlink()
    assert validate_dataset(other, nothing, store).manifest.facts == {"checks": [], "warnings": [], "results": []}


def test_warnings_name_source_split_and_numbers(mill: Mill, tmp_path: Path) -> None:
    train = {"prompt": [f"p{n}" for n in range(60)], "response": [f"r{n % 30}" for n in range(60)]}
    train["prompt"][30:] = train["prompt"][:30]
    write_parquet(tmp_path / "lab" / "train.parquet", {**train, "reward": [1.0] * 60})
    write_parquet(tmp_path / "lab" / "test.parquet", {"prompt": ["p0", "q"], "response": ["x", "y"], "reward": [0, 1]})
    warnings = mill(tmp_path / "lab").report.warnings
    assert "lab, train: 60 rows have one and the same reward; expected: none. (same_reward_rows)" in warnings
    assert (
        "lab, test: 50.0% of the prompts held out are in a train split too; expected: at most 0.1%. "
        "(prompts_seen_in_training)"
    ) in warnings
    assert any("lab, train: 50.0% of the rollouts repeat another of their split" in line for line in warnings)


def test_copies_of_a_source_are_told(mill: Mill, tmp_path: Path) -> None:
    rows = {"prompt": ["a", "b"], "response": ["c", "d"]}
    for name in ("one", "two"):
        write_parquet(tmp_path / name / "train.parquet", rows)
    warnings = mill(tmp_path / "one", tmp_path / "two").report.warnings
    for name in ("one", "two"):
        assert any(f"{name}, train: 100.0% of the rollouts are in another source too" in line for line in warnings)


def with_column(table: pa.Table, name: str, value: Any) -> pa.Table:
    at = table.schema.get_field_index(name)
    field = table.schema.field(name)
    return table.set_column(at, field, pa.array([value] * len(table), field.type))


@pytest.mark.parametrize(
    ("column", "value", "code"),
    [
        ("row_id", "0" * 32, "row_id_twice"),
        ("reward_kind", "guess", "reward_kind_unknown"),
        ("producer_role", "robot", "producer_role_unknown"),
        ("finish_reason", "tired", "finish_reason_unknown"),
        ("context_mode", "delta", "context_without_start"),
        ("context_mode", "half", "context_mode_unknown"),
        ("step_idx", -1, "step_negative"),
        ("candidate_idx", -1, "candidate_negative"),
        ("num_steps", 7, "num_steps_wrong"),
        ("is_last", False, "is_last_wrong"),
        ("discount", float("nan"), "number_not_finite"),
    ],
)
def test_a_fault_of_a_layout_refuses_the_dataset(
    mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: str, value: Any, code: str
) -> None:
    made = PromptResponse.normalize
    monkeypatch.setattr(PromptResponse, "normalize", lambda *given: with_column(made(*given), column, value))
    write_lines(tmp_path / "lab" / "train.jsonl", [{"prompt": "CANARY", "response": str(n)} for n in range(3)])
    with pytest.raises(LayoutFaultError) as caught:
        mill(tmp_path / "lab")
    message = caught.value.message
    assert f"{code} in 3 rows, first in row 0 of what prompt_response@1 made of lab/default/train#0" in message
    assert "CANARY" not in message
    assert not (mill.root / "dest").exists()


def test_a_rollout_that_is_parted_refuses_the_dataset(
    mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = PromptResponse.normalize
    monkeypatch.setattr(PromptResponse, "normalize", lambda *given: with_column(made(*given), "rollout_id", "0" * 32))
    for name in ("train", "test"):
        write_lines(tmp_path / "lab" / f"{name}.jsonl", [{"prompt": "a", "response": "b"}])
    with pytest.raises(LayoutFaultError, match="rollout_parted in 2 rows"):
        mill(tmp_path / "lab")


def test_equal_keys_of_different_ids_are_no_fault(mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rollmill.normalize.facts_of", lambda rows: with_column(facts_of(rows), "row_key", 5))
    write_lines(tmp_path / "lab" / "train.jsonl", [{"prompt": "a", "response": str(n)} for n in range(3)])
    assert mill(tmp_path / "lab").version.total.rows_written == 3


@pytest.mark.parametrize("reason", ["row_id_twice", "rollout_parted"])
def test_equal_keys_count_only_with_equal_ids(tmp_path: Path, reason: str) -> None:
    dataset = Dataset(tmp_path).add("a", "train", 3).add("b", "train", 2)
    ids = {"a": ["ab", "cd", "ef"], "b": ["cd", "e0"]}
    for unit in dataset.units:
        rows = {"row_id": ids[unit.source], "rollout_id": ids[unit.source]}
        pq.write_table(pa.table(rows), unit.rollouts)
    bad = pl.DataFrame({"row": [1, 2, 3, 4], "reason": [reason] * 4, "reasons": [[reason]] * 3 + [[reason, "other"]]})
    found = confirmed(bad, dataset.units)
    assert found.select("unit", "row", "reason").rows() == [(0, 1, reason), (1, 0, reason), (1, 1, "other")]
    with pytest.raises(LayoutFaultError, match=rf"{reason} in 2 rows, first in row 1 of .*; other in 1 rows"):
        refuse(found, dataset.units)
    refuse(found.clear(), dataset.units)


def test_faults_that_were_kept_on_request_are_no_faults_of_the_layout(mill: Mill, tmp_path: Path) -> None:
    faults = {"step_gap": 2, "steps_after_end": 2, "reward_not_finite": 2}
    write_act_prm(tmp_path / "steps", scale=0.03, faults=faults)
    milled = mill({"uri": str(tmp_path / "steps"), "keep": list(faults)})
    assert milled.version.total.rows_quarantined == 0
    assert milled.report.kept.keys() == faults.keys()
