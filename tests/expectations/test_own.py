"""The user's own expectations, from the pipeline file to what is put aside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rollmill.config import Source
from rollmill.errors import ConfigError, DataRefusedError
from rollmill.expectations.own import check_own
from rollmill.report import Report, describe_verdicts
from tests.conftest import Mill, Milled, write_lines, write_parquet

LENGTH, NOT_NULL = "expect_column_value_lengths_to_be_between", "expect_column_values_to_not_be_null"
BETWEEN = "expect_column_values_to_be_between"
ROWS: dict[str, list[Any]] = {
    "prompt": ["a", "b", "c", None],
    "response": ["x" * 20, "y", "", "z"],
    "reward": [0.0, 1.0, 2.0, None],
    "lang": ["en", "de", None, "fr"],
}


def source(folder: Path, *expectations: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"uri": str(folder), "expectations": list(expectations), **more}


def entry(kind: str, kwargs: dict[str, Any], severity: Any = "critical", reason: str | None = None) -> dict[str, Any]:
    return {kind: kwargs, "severity": severity} | ({"reason": reason} if reason else {})


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    return write_parquet(tmp_path / "lab" / "train.parquet", ROWS).parent


def aside(milled: Milled) -> dict[int, list[str]]:
    return {row["source_row"]: row["reasons"] for row in milled.quarantined()}


def test_records_are_put_aside_under_the_users_reason(mill: Mill, lab: Path) -> None:
    long = entry(LENGTH, {"column": "response", "max_value": 9}, reason="response_too_long")
    english = entry("expect_column_values_to_be_in_set", {"column": "lang", "value_set": ["en", "de"]}, reason="lang")
    assert aside(mill(source(lab, long, english))) == {
        0: ["response_too_long"],
        2: ["empty_response"],
        3: ["reward_missing", "lang"],
    }
    milled = mill(source(lab, long, english, keep=["response_too_long", "empty_response"]))
    assert milled.report.kept == {"response_too_long": 1, "empty_response": 1}


def test_built_in_checks_are_overridden_and_dropped(mill: Mill, lab: Path) -> None:
    milled = mill(source(lab, entry(NOT_NULL, {"column": "reward"}, "warning")))
    assert aside(milled) == {2: ["empty_response"]}
    blank = entry("expect_column_values_to_not_match_regex", {"column": "response"}, False)
    assert aside(mill(source(lab, blank))) == {3: ["reward_missing"]}
    kinds = {LENGTH: {"column": "response", "min_value": 2}}
    assert aside(mill(source(lab, blank, {**kinds, "reason": "short"}))) == {
        1: ["short"],
        2: ["short"],
        3: ["reward_missing", "short"],
    }


def test_whatever_is_dropped_restoring_is_exact(mill: Mill, tmp_path: Path) -> None:
    """Also numbers that are none."""
    cells = ["0.5", "high", float("nan"), None, [1]]
    lines = [{"prompt": "p", "response": None, "reward": cell} for cell in cells]
    write_lines(tmp_path / "lab" / "train.jsonl", lines)
    drops = [
        entry(kind, {"column": column}, "off")
        for column in ("response", "reward")
        for kind in (
            NOT_NULL,
            "expect_column_values_to_not_match_regex",
            "expect_column_values_to_match_regex",
            "expect_column_values_to_be_finite",
        )
    ]
    milled = mill(source(tmp_path / "lab", *drops))
    assert milled.version.total.rows_published == 5
    restored, _ = milled.restored(tmp_path / "out.parquet")
    strict = Mill(tmp_path / "strict")
    write_lines(tmp_path / "lab2" / "train.jsonl", [*lines, {"prompt": "p", "response": "r", "reward": 1}])
    whole, _ = strict(tmp_path / "lab2").restored(tmp_path / "whole.parquet", with_quarantine=True)
    assert restored.to_pylist() == whole.to_pylist()[:5]


def test_a_saved_suite_is_merged_and_entries_win_over_it(mill: Mill, lab: Path, tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    entries = [
        {"type": BETWEEN, "kwargs": {"column": "reward", "max_value": 1}, "meta": {}, "severity": "critical"},
        {"type": NOT_NULL, "kwargs": {"column": "lang"}, "meta": {"reason": "no_lang"}, "severity": "critical"},
    ]
    path.write_text(json.dumps({"name": "mine", "expectations": entries}))
    assert aside(mill(source(lab, suite=str(path)))) == {
        2: ["empty_response", "column_values_to_be_between_reward", "no_lang"],
        3: ["reward_missing"],
    }
    milled = mill(source(lab, entry(NOT_NULL, {"column": "lang"}, "info"), suite=str(path)))
    assert aside(milled)[2] == ["empty_response", "column_values_to_be_between_reward"]


def test_records_below_mostly_are_put_aside_all_the_same(mill: Mill, lab: Path) -> None:
    """What share of a unit is good must not decide what becomes of a record: units are cut by size."""
    mostly = entry(LENGTH, {"column": "response", "max_value": 9, "mostly": 0.5}, reason="long")
    milled = mill(source(lab, mostly))
    assert aside(milled)[0] == ["long"]
    (verdict,) = milled.verdicts.values()
    (found,) = [finding for finding in verdict.facts["findings"] if finding["reason"] == "long"]
    assert (found["success"], found["unexpected"]) == (True, 1)


def test_a_critical_check_of_the_table_that_fails_refuses_the_run(mill: Mill, lab: Path) -> None:
    mean = {"expect_column_mean_to_be_between": {"column": "reward", "min_value": 5}}
    with pytest.raises(DataRefusedError, match=r"mean_to_be_between \(reward\) fails, found 1\.0"):
        mill(source(lab, mean))
    assert mill(source(lab, mean | {"severity": "warning"})).version.total.rows_published == 2


def test_columns_that_only_other_units_have_are_null_there(mill: Mill, tmp_path: Path) -> None:
    """Whether a file shares its unit with others, and which columns those have, must not decide what is put aside."""
    write_lines(tmp_path / "lab" / "train.jsonl", [{"prompt": "a", "response": "b", "lang": "english"}] * 2)
    write_lines(tmp_path / "lab" / "test.jsonl", [{"prompt": "a", "response": "b"}, {"prompt": "c", "response": "d"}])
    write_lines(tmp_path / "lab" / "dev.jsonl", [{"prompt": "a", "response": "b", "lang": None}] * 2)
    short = entry(LENGTH, {"column": "lang", "max_value": 2}, reason="long_lang")
    given = entry(NOT_NULL, {"column": "lang"}, reason="no_lang")
    milled = mill(source(tmp_path / "lab", short))
    assert milled.report.reasons == {"long_lang": 2}
    milled = mill(source(tmp_path / "lab", given, keep=["no_lang"]))
    assert milled.report.kept == {"no_lang": 4}


def test_a_critical_check_of_a_column_that_is_nowhere_is_refused_before_anything_is_read(
    mill: Mill, lab: Path, tmp_path: Path
) -> None:
    path = tmp_path / "suite.json"
    found = {"type": NOT_NULL, "kwargs": {"column": "respons"}, "meta": {"reason": "x"}, "severity": "critical"}
    path.write_text(json.dumps({"name": "mine", "expectations": [found]}))
    for given, words in (
        (source(lab, entry(NOT_NULL, {"column": "respons"}, reason="x")), "its `expectations`"),
        (source(lab, entry(NOT_NULL, {"column": "respons"}, "off")), "its `expectations`"),
        (source(lab, suite=str(path)), "suite.json"),
    ):
        with pytest.raises(ConfigError) as caught:
            mill.plan(given)
        for word in (words, "'respons'", "train.parquet", "did you mean 'response'", "prompt, response, reward, lang"):
            assert word in caught.value.message
        assert (caught.value.file, caught.value.column) == ("train.parquet", "respons")


def test_a_warning_about_a_column_that_is_nowhere_is_told(mill: Mill, lab: Path) -> None:
    milled = mill(source(lab, entry(NOT_NULL, {"column": "respons"}, "warning")))
    report = Report("published")
    describe_verdicts(report, [(unit, milled.verdicts[unit.validate_key]) for unit in milled.plan.units])
    (told,) = [line for line in report.warnings if "respons)" in line]
    for word in (
        "lab: expect_column_values_to_not_be_null",
        "can't be judged",
        "train.parquet",
        "did you mean 'response'",
    ):
        assert word in told


def test_expectations_enter_the_keys_of_their_source_alone(mill: Mill, lab: Path, tmp_path: Path) -> None:
    other = write_parquet(tmp_path / "other" / "train.parquet", ROWS).parent
    before = mill.plan(lab, other).units
    after = mill.plan(source(lab, entry(NOT_NULL, {"column": "lang"}, "info")), other).units
    assert after[0].validate_key != before[0].validate_key
    assert after[1].validate_key == before[1].validate_key


@pytest.mark.parametrize(
    ("expectation", "words"),
    [
        (
            entry(LENGTH, {"column": "a", "max_valu": 3}, "info"),
            ["(a) can't be made", "'max_valu', did you mean 'max_value'"],
        ),
        (entry(LENGTH, {"max_value": 3}, "info"), ["the argument 'column' is missing"]),
        (entry(BETWEEN, {"column": "a"}, "info"), ["min_value and max_value cannot both be None"]),
        (entry(BETWEEN, {"column": "a", "min_value": 0, "mostly": 7}, "info"), ["mostly: ensure this value is less"]),
    ],
)
def test_arguments_that_do_not_fit_are_told(expectation: dict[str, Any], words: list[str]) -> None:
    given = Source.model_validate({"uri": "lab", "expectations": [expectation]})
    with pytest.raises(ConfigError) as caught:
        check_own([given])
    for word in ("expectations of source lab", *words):
        assert word in caught.value.message


def test_arguments_that_fit_are_taken() -> None:
    given = entry(LENGTH, {"column": "a", "max_value": 3, "mostly": 0.9}, reason="r")
    dropped = entry(LENGTH, {"column": "b"}, "off")
    check_own([Source.model_validate({"uri": "lab", "expectations": [given, dropped]})])
