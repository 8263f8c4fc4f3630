from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rollmill.errors import DataRefusedError, FileRefusedError, QuarantineLimitError
from rollmill.layouts import layout_named
from rollmill.limits import judge_limits
from rollmill.plan import UnitPlan
from rollmill.snapshot import SourceFile
from rollmill.store import Manifest
from rollmill.units import Part, Unit
from tests.conftest import Mill, write_parquet

Judged = tuple[UnitPlan, Manifest]
COLUMNS = {"empty_response": "response", "reward_missing": "score"}


def unit(
    split: str,
    *files: tuple[str, int, dict[str, int]],
    source: str = "lab",
    config: str = "default",
    keep: tuple[str, ...] = (),
) -> Judged:
    """A judged unit of files: path, records read, those put aside by reason."""
    listed = [SourceFile(path, Path(path), 1, path, config, split) for path, _, _ in files]
    parts = tuple(Part(file, 0, 1, 0, rows) for file, (_, rows, _) in zip(listed, files, strict=True))
    plan = UnitPlan(
        Unit(source, config, split, 0, parts),
        layout_named("prompt_response"),
        {},
        pa.schema([]),
        {},
        "v",
        "n",
        keep=keep,
    )
    facts = {
        str(i): {"read": rows, "reasons": reasons, "first": dict.fromkeys(reasons, 100 + i)}
        for i, (_, rows, reasons) in enumerate(files)
    }
    found = {"expectation": "expect_column_values_to_not_be_null", "severity": "critical", "success": False}
    findings = [found | {"reason": code, "column": column} for code, column in COLUMNS.items()]
    return plan, Manifest("validate", "v", facts={"parts": facts, "findings": findings})


def refusal(limit: float, *judged: Judged) -> str:
    with pytest.raises(QuarantineLimitError) as caught:
        judge_limits(judged, limit)
    return caught.value.message


def test_a_source_at_the_limit_passes_and_one_above_is_refused() -> None:
    judge_limits([unit("train", ("a.parquet", 1000, {"empty_response": 10}))], 0.01)
    message = refusal(0.01, unit("train", ("a.parquet", 1000, {"empty_response": 11})))
    for words in ("source lab", "11 of 1000", "1.1%", "empty_response 11", "limit of 1.0%", "a.parquet"):
        assert words in message


@pytest.mark.parametrize("aside", [12, 57, 300, 1007])
def test_the_message_names_an_option_that_would_do(aside: int) -> None:
    judged = unit("train", ("a.parquet", 1007, {"empty_response": aside}))
    option = refusal(0.01, judged).partition("--max-quarantine ")[2].rstrip(".")
    judge_limits([judged], float(option))


def test_reasons_are_told_from_the_most_frequent_on() -> None:
    message = refusal(0.0, unit("train", ("a", 100, {"bad_json": 1, "empty_response": 3, "reward_missing": 2})))
    assert "6 of 100" in message
    assert "empty_response 3, reward_missing 2, bad_json 1" in message


def test_one_dead_split_of_many_is_not_hidden_by_the_others() -> None:
    good = [unit(f"train_{i}", (f"{i}.parquet", 10_000, {})) for i in range(20)]
    message = refusal(0.01, *good, unit("train_20", ("dead.parquet", 60, {"empty_response": 60})))
    assert "split train_20 of source lab" in message
    assert "60 of 60" in message
    assert "dead.parquet" in message
    assert "source lab: " not in message, "the source as a whole is below the limit"


def test_splits_of_one_name_in_two_configs_are_judged_apart() -> None:
    good = unit("train", ("a.parquet", 10_000, {}), config="a")
    message = refusal(0.01, good, unit("train", ("b.parquet", 60, {"bad_json": 60}), config="b"))
    assert "config b" in message
    assert "config a" not in message


def test_a_source_is_judged_over_all_of_its_splits_and_units() -> None:
    units = [unit(f"s{i}", (f"{i}.parquet", 40, {"empty_response": 1})) for i in range(10)]
    message = refusal(0.01, *units)
    assert "source lab: 10 of 400" in message
    assert "split" not in message.replace("max_quarantine", "").split("Most in file")[0]


def test_below_fifty_records_only_a_scope_without_any_good_one_is_refused() -> None:
    judge_limits([unit("train", ("a", 49, {"empty_response": 48}))], 0.01)
    assert "49 of 49" in refusal(0.01, unit("train", ("a", 49, {"empty_response": 49})))
    assert "1 of 1" in refusal(0.01, unit("train", ("a", 1, {"bad_json": 1})))
    assert "1 of 50" in refusal(0.01, unit("train", ("a", 50, {"empty_response": 1})))


def test_limit_one_lets_all_through() -> None:
    judge_limits([unit("train", ("a", 60, {"empty_response": 60})), unit("test", ("b", 1, {"bad_json": 1}))], 1.0)


def test_nothing_put_aside_passes_the_limit_of_zero() -> None:
    judge_limits([unit("train", ("a", 60, {}), ("b", 0, {}))], 0.0)


@pytest.mark.parametrize("limit", [0.01, 1.0])
def test_a_file_whose_rewards_are_all_null_is_refused(limit: float) -> None:
    good = unit("train", ("train-0.parquet", 5000, {}), ("train-1.parquet", 12, {"reward_missing": 12}))
    with pytest.raises(FileRefusedError, match="column score") as caught:
        judge_limits([good], limit)
    assert (caught.value.file, caught.value.column) == ("train-1.parquet", "score")
    assert "train-1.parquet" in caught.value.message


def test_a_file_that_is_cut_into_units_is_judged_whole() -> None:
    ranges: list[Any] = [("big.parquet", 100, {"reward_missing": 100}), ("big.parquet", 9900, {})]
    judge_limits([unit("train", part) for part in ranges], 0.02)


def test_files_of_one_path_in_two_sources_are_told_apart() -> None:
    same = "data/train.parquet"
    with pytest.raises(FileRefusedError, match=r"data/train\.parquet"):
        judge_limits(
            [unit("train", (same, 60, {}), source="good"), unit("train", (same, 5, {"reward_missing": 5}))], 1.0
        )


def test_the_worst_file_is_one_of_a_scope_above_the_limit() -> None:
    large = unit("train", ("large.parquet", 100_000, {"empty_response": 900}), source="large")
    with pytest.raises(QuarantineLimitError) as caught:
        judge_limits([large, unit("train", ("x.parquet", 50, {}), ("y.parquet", 50, {"empty_response": 9}))], 0.01)
    assert (caught.value.file, caught.value.row, caught.value.column) == ("y.parquet", 101, "response")
    assert "record 101" in caught.value.message
    assert "large" not in caught.value.message


def test_one_record_without_a_reward_does_not_refuse_a_file_of_many() -> None:
    files = [(f"{i}.jsonl", 1, {"reward_missing": 1} if i == 7 else {}) for i in range(200)]
    judge_limits([unit("train", *files)], 0.01)
    with pytest.raises(FileRefusedError, match="score"):
        judge_limits([unit("train", ("only.jsonl", 1, {"reward_missing": 1}))], 0.01)


def test_kept_records_count_as_good() -> None:
    found = {"empty_response": 500, "empty_response+reward_missing": 9, "bad_json": 1}
    judge_limits([unit("train", ("a", 1000, found), keep=("empty_response",))], 0.01)
    message = refusal(0.009, unit("train", ("a", 1000, found), keep=("empty_response",)))
    assert "10 of 1000" in message
    assert "empty_response 9, bad_json 1" in message


def test_a_file_whose_null_rewards_are_kept_is_not_refused() -> None:
    judge_limits([unit("train", ("a", 60, {"reward_missing": 60}), keep=("reward_missing",))], 0.01)


def test_the_message_names_the_codes_to_keep_and_never_one_that_can_not_be() -> None:
    found = {"empty_response+reward_missing": 40, "bad_json": 30}
    assert "flagged with --keep empty_response --keep reward_missing," in refusal(0, unit("train", ("a", 100, found)))
    assert "--keep" not in refusal(0, unit("train", ("a", 100, {"bad_json": 30})))
    judge_limits([unit("train", ("a", 100, found), keep=("empty_response", "reward_missing"))], 0.3)


def failing(expectation: str, observed: Any, **more: Any) -> Judged:
    plan, verdict = unit("train", ("a", 60, {}))
    finding = {"expectation": expectation, "column": "reward", "severity": "critical", "reason": None, "success": False}
    return plan, Manifest(
        "validate", "v", facts=verdict.facts | {"findings": [finding | {"observed": observed} | more]}
    )


def test_a_critical_check_of_a_table_that_fails_refuses_the_run() -> None:
    judge_limits([failing("expect_column_mean_to_be_between", 0.5, severity="warning")], 1.0)
    judge_limits([failing("expect_column_mean_to_be_between", 0.5, success=True)], 1.0)
    with pytest.raises(DataRefusedError, match=r"lab/default/train#0.*mean_to_be_between \(reward\) fails, found 0.5"):
        judge_limits([failing("expect_column_mean_to_be_between", 0.5)], 1.0)
    with pytest.raises(DataRefusedError) as caught:
        judge_limits([failing("expect_column_most_common_value_to_be_in_set", ["CANARY"])], 1.0)
    assert "CANARY" not in caught.value.message


def test_one_bad_split_of_127_refuses_a_run_though_it_is_under_one_percent_of_all(mill: Mill, tmp_path: Path) -> None:
    for number in range(1, 128):
        bad = 30 if number == 64 else 0
        rows = {"prompt": [f"{i}?" for i in range(60)], "response": [""] * bad + ["x"] * (60 - bad)}
        write_parquet(tmp_path / "critic" / "data" / f"train_{number}-00000-of-00001.parquet", rows)
    with pytest.raises(QuarantineLimitError) as caught:
        mill(tmp_path / "critic", validation={})
    assert "split train_64 of source critic (config default): 30 of 60 records" in caught.value.message
    assert "source critic: " not in caught.value.message
    assert caught.value.file == "data/train_64-00000-of-00001.parquet"
    assert not (mill.root / "dest").exists()
