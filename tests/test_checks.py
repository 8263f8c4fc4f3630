"""Expectations of the user's own, as they stand in a pipeline file or a saved suite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rollmill.checks import Expectation, read_suite
from rollmill.config import Source, build_pipeline, load_pipeline
from rollmill.errors import ConfigError

LENGTH = "expect_column_value_lengths_to_be_between"
FILE = """\
name: math
sources:
  - uri: raw
    suite: suite.json
    expectations:
      - expect_column_value_lengths_to_be_between: {column: response, max_value: 100000}
        severity: critical
        reason: response_too_long
      - expect_column_values_to_not_be_null: {column: prompt}
        severity: off
      - expect_column_mean_to_be_between: {column: reward, min_value: 0.1}
        severity: warning
    keep: [empty_response, response_too_long]
destination: out
"""


def saved(*entries: dict[str, Any]) -> str:
    return json.dumps({"name": "mine", "id": None, "expectations": list(entries), "meta": {}, "notes": None})


def load(folder: Path, text: str = FILE, suite: str | None = None) -> Source:
    (folder / "suite.json").write_text(saved() if suite is None else suite)
    (folder / "pipeline.yaml").write_text(text)
    return load_pipeline(folder / "pipeline.yaml").sources[0]


def refusal(folder: Path, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load(folder, *args, **kwargs)
    return caught.value.message


def test_expectations_are_read_in_order(tmp_path: Path) -> None:
    source = load(tmp_path)
    assert [(check.type, check.severity, check.reason) for check in source.checks] == [
        (LENGTH, "critical", "response_too_long"),
        ("expect_column_values_to_not_be_null", "off", None),
        ("expect_column_mean_to_be_between", "warning", None),
    ]
    assert source.checks[0].kwargs == {"column": "response", "max_value": 100000}
    assert source.keep == ("empty_response", "response_too_long")


def test_a_pipeline_survives_its_own_dump(tmp_path: Path) -> None:
    """Flags beside a file, and Prefect, build it again from plain values; the suite's file is not read again."""
    load(tmp_path, suite=saved({"type": LENGTH, "kwargs": {"column": "x", "max_value": 9}, "severity": "info"}))
    pipeline = load_pipeline(tmp_path / "pipeline.yaml")
    (tmp_path / "suite.json").unlink()
    assert build_pipeline(**pipeline.model_dump()) == pipeline
    assert type(pipeline).model_validate_json(pipeline.model_dump_json()) == pipeline


@pytest.mark.parametrize(
    ("line", "old", "new", "words"),
    [
        (6, "value_lengths_to_be", "value_length_to_be", ["no expectation", f"did you mean '{LENGTH}'"]),
        (6, "reason: response_too_long", "severty: info", ["'severty'", "severity and reason"]),
        (6, "        reason: response_too_long\n", "", [LENGTH, "is critical", "needs a `reason`"]),
        (6, "response_too_long", "Too Long", ["'Too Long' is no code"]),
        (6, "response_too_long", "bad_json", ["'bad_json' has a meaning of its own"]),
        (6, "{column: response, max_value: 100000}", "response", ["needs its arguments as a mapping"]),
        (6, "max_value: 100000", "max_value: 2024-01-01", ["no JSON value", "date"]),
        (7, "severity: critical", "severity: fatal", ["'critical', 'warning', 'info' or 'off'"]),
        (6, "- expect_column_value_l", "- x\n      - expect_column_value_l", ["an expectation is a mapping"]),
        (
            3,
            "[empty_response,",
            "[bad_json,",
            ["'bad_json' can't be kept", "can't be read", "response_too_long, reward_"],
        ),
        (3, "[empty_response,", "[duplicate_step,", ["'duplicate_step' can't be kept", "same step and candidate"]),
        (
            3,
            "[empty_response,",
            "[empty_respons,",
            ["no reason code 'empty_respons'", "Possible codes: empty_response"],
        ),
    ],
)
def test_what_is_wrong_is_told_by_line(tmp_path: Path, line: int, old: str, new: str, words: list[str]) -> None:
    message = refusal(tmp_path, FILE.replace(old, new, 1))
    assert f"line {line}:" in message
    for word in words:
        assert word in message


def test_a_saved_suite_is_read_with_its_severities_and_reasons(tmp_path: Path) -> None:
    gx = pytest.importorskip("great_expectations")
    from great_expectations.expectations.row_conditions import Column

    made = [
        gx.expectations.ExpectColumnValueLengthsToBeBetween(
            column="response", max_value=9, severity="critical", meta={"reason": "too_long"}, notes="why"
        ),
        gx.expectations.ExpectColumnValuesToBeBetween(column="Reward (raw)", min_value=0, mostly=0.9),
        gx.expectations.ExpectColumnMeanToBeBetween(column="reward", min_value=0, severity="warning"),
        gx.expectations.ExpectColumnValuesToNotBeNull(column="a", row_condition=Column("b") > 1, severity="info"),
    ]
    path = tmp_path / "suite.json"
    path.write_text(json.dumps(gx.ExpectationSuite("mine", expectations=made).to_json_dict()))
    checks = read_suite(path)
    assert [(check.severity, check.reason) for check in checks] == [
        ("critical", "too_long"),
        ("critical", "column_values_to_be_between_reward_raw"),
        ("warning", None),
        ("info", None),
    ]
    assert checks[1].kwargs["mostly"] == 0.9
    assert checks[3].columns == ("a", "b")


@pytest.mark.parametrize(
    ("suite", "words"),
    [
        ("{", ["suite.json can't be read"]),
        ("[]", ["no suite as Great Expectations saves it"]),
        ('{"expectation_suite_name": "x", "expectations": []}', ["before 1.0"]),
        (saved({"kwargs": {}}), ["suite.json, entry 0", "'type'"]),
        (saved({"type": "expect_nonsense", "kwargs": {}}), ["suite.json, entry 0", "no expectation 'expect_nonsense'"]),
        (
            saved({"type": LENGTH, "kwargs": {"column": "a"}, "meta": {"reason": "invalid_utf8"}}),
            ["suite.json, entry 0", "meaning of its own"],
        ),
    ],
)
def test_a_suite_that_is_none_is_told_by_file_and_entry(tmp_path: Path, suite: str, words: list[str]) -> None:
    message = refusal(tmp_path, suite=suite)
    assert "line 4: `sources.0.suite`" in message
    for word in words:
        assert word in message


def test_a_suite_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert "elsewhere.json can't be read" in refusal(tmp_path, FILE.replace("suite.json", "elsewhere.json"))


def test_what_an_expectation_looks_at() -> None:
    condition = {"type": "and", "conditions": [{"column": {"name": "x"}}, {"column": {"name": "y"}}]}
    check = Expectation(type=LENGTH, kwargs={"column": "a", "max_value": 1, "row_condition": condition}, reason="r")
    assert check.columns == ("a", "x", "y")
    pair = Expectation(
        type="expect_column_pair_values_to_be_equal", kwargs={"column_A": "p", "column_B": "q"}, severity="info"
    )
    assert pair.columns == ("p", "q")
    assert Expectation(type=LENGTH, kwargs={"column": "a", "max_value": 2}, reason="r").domain != check.domain
