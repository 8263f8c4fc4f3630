import json
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given, settings

from rollmill.errors import ConfigError, DataRefusedError
from rollmill.expectations import Check, Frames, Suite, suite_for, validate_stream
from rollmill.expectations.engine import ExpectColumnValuesToBeFinite
from rollmill.formats.records import JSON_TEXT_KEY

NAN, INF = float("nan"), float("inf")
FRAME = pl.DataFrame(
    {
        "prompt": ["a", "b", None, "d", "d", " ", "f"],
        "response": ["one", " \u00a0\n", None, "two", "two", "", "three"],
        "reward": [1.0, NAN, None, INF, 0.0, -0.0, None],
    }
)
SUITE = suite_for("prompt_response", FRAME.to_arrow().schema)


class Counted(Frames):
    passes = 0

    def __iter__(self) -> Any:
        self.passes += 1
        return super().__iter__()


def cut(frame: Any, *at: Any) -> Any:
    edges = [0, *at, frame.height]
    return Frames(frame.schema, [frame[a:b] for a, b in pairwise(edges)])


def found(judgement: Any, expectation: Any, column: Any) -> Any:
    return next(f for f in judgement.findings if (f.expectation, f.column) == (expectation, column))


def rewards(cells: Any, kind: Any = pl.String, metadata: Any = None) -> Any:
    """Give the reason per cell of a reward column."""
    frame = pl.DataFrame({"response": ["x"] * len(cells), "reward": pl.Series(cells, dtype=kind)})
    schema = frame.to_arrow().schema
    schema = schema.set(1, schema.field(1).with_metadata(metadata)) if metadata else schema
    bad = validate_stream(cut(frame), suite_for("prompt_response", schema), name="t").bad
    reason = dict(zip(bad["row"], bad["reason"], strict=True))
    return [reason.get(row) for row in range(len(cells))]


def test_bad_records_have_the_first_reason_that_applies() -> None:
    judgement = validate_stream(cut(FRAME, 2, 3), SUITE, name="t")
    assert judgement.rows == 7
    assert judgement.bad.rows() == [
        (1, "empty_response", ["empty_response", "reward_not_finite"]),
        (2, "empty_response", ["empty_response", "reward_missing"]),
        (3, "reward_not_finite", ["reward_not_finite"]),
        (5, "empty_response", ["empty_response"]),
        (6, "reward_missing", ["reward_missing"]),
    ]


def test_findings_stand_in_the_suites_order_with_their_counts() -> None:
    judgement = validate_stream(cut(FRAME), SUITE, name="t")
    assert [finding.expectation for finding in judgement.findings] == [check.type for check in SUITE.checks]
    missing = found(judgement, "expect_column_values_to_not_be_null", "reward")
    assert (missing.severity, missing.reason, missing.success, missing.unexpected) == (
        "critical",
        "reward_missing",
        False,
        2,
    )
    repeated = found(judgement, "expect_compound_columns_to_be_unique", "prompt, response")
    assert (repeated.severity, repeated.success, repeated.unexpected, repeated.element_count) == (
        "warning",
        False,
        2,
        7,
    )


def test_warnings_put_nothing_aside() -> None:
    frame = pl.DataFrame({"prompt": [None, "  ", "p", "p"], "response": ["a", "b", "c", "c"]})
    judgement = validate_stream(cut(frame), suite_for("prompt_response", frame.to_arrow().schema), name="t")
    assert judgement.bad.is_empty()
    assert judgement.bad.schema == {"row": pl.Int64, "reason": pl.String, "reasons": pl.List(pl.String)}
    assert [f.unexpected for f in judgement.findings if f.severity == "warning"] == [1, 1, 2]


def test_reward_as_text() -> None:
    cells = ["1", " 0.5 ", "-1e-3", "n/a", "", None, "nan", " -Infinity", "1e999", "1,5"]
    nan, inf = ["reward_not_a_number"], ["reward_not_finite"]
    assert rewards(cells) == [None, None, None, *nan, *nan, "reward_missing", *inf, *inf, *inf, *nan]


def test_reward_as_json_text() -> None:
    cells = ["1.0", '"0.5"', "true", "[0.1]", '{"a":1}', '"high"', '"NaN"', "NaN", "null", None, "-1E5"]
    expected = [None, None, None, "reward_shape", "reward_shape", "reward_not_a_number", "reward_not_finite"]
    expected += ["reward_not_finite", "reward_missing", "reward_missing", None]
    assert rewards(cells, metadata={JSON_TEXT_KEY: b"1"}) == expected


def test_reward_of_other_types() -> None:
    assert rewards([1, None], pl.Int64) == [None, "reward_missing"]
    assert rewards([True, None], pl.Boolean) == [None, "reward_missing"]
    assert rewards([None, None], pl.Null) == ["reward_missing", "reward_missing"]
    assert rewards([[0.1], None], pl.List(pl.Float64)) == ["reward_shape", "reward_missing"]
    assert rewards(["0.5", "x"], pl.Categorical) == [None, "reward_not_a_number"]


def test_a_column_of_nan_only_is_not_vacuously_good() -> None:
    assert rewards([NAN, NAN], pl.Float32) == ["reward_not_finite", "reward_not_finite"]
    judgement = validate_stream(cut(FRAME.with_columns(reward=pl.lit(NAN))), SUITE, name="t")
    assert found(judgement, "expect_column_values_to_be_finite", "reward").success is False


@pytest.mark.parametrize("frames", [[], [FRAME.clear()], [FRAME.clear(), FRAME.clear()]])
def test_a_stream_without_records(frames: Any) -> None:
    judgement = validate_stream(Frames(FRAME.schema, frames), SUITE, name="t")
    assert judgement.rows == 0
    assert judgement.bad.is_empty()
    assert all(f.success and f.error is None for f in judgement.findings)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, FRAME.height), max_size=4))
def test_the_cut_into_batches_changes_nothing(at: Any) -> None:
    whole, parts = (validate_stream(cut(FRAME, *edges), SUITE, name="t") for edges in ((), sorted(at)))
    assert parts.bad.equals(whole.bad)
    assert (parts.findings, parts.result) == (whole.findings, whole.result)


def test_one_pass() -> None:
    stream = Counted(FRAME.schema, [FRAME[:3], FRAME[3:]])
    validate_stream(stream, SUITE, name="t", values=True)
    assert stream.passes == 1


def test_results_quote_no_record_unless_asked() -> None:
    secret = "s3cret " * 100
    frame = pl.DataFrame({"prompt": [secret, secret], "response": [secret, secret]})
    checks = (
        Check("expect_column_values_to_match_regex", {"column": "prompt", "regex": "^x"}, severity="warning"),
        Check("expect_column_values_to_be_in_set", {"column": "prompt", "value_set": ["x"]}, severity="warning"),
        Check("expect_compound_columns_to_be_unique", {"column_list": ["prompt", "response"]}, severity="warning"),
    )
    quiet = json.dumps(validate_stream(cut(frame), Suite("s", checks), name="t").result, allow_nan=False)
    assert "s3cret" not in quiet
    assert '"partial_unexpected_index_list": [0, 1]' in quiet
    result = validate_stream(cut(frame, 1), Suite("s", checks), name="t", values=True).result
    assert result["results"][0]["result"]["partial_unexpected_list"] == [secret[:256]] * 2


def test_results_are_standard_json_and_the_same_every_time() -> None:
    one, other = (validate_stream(cut(FRAME), SUITE, name="t", values=True).result for _ in range(2))
    assert json.dumps(one, allow_nan=False) == json.dumps(other, allow_nan=False)


def test_failing_warnings_do_not_hide_each_other_or_the_rest() -> None:
    checks = (
        Check("expect_column_values_to_be_between", {"column": "nope", "min_value": 0}, severity="warning"),
        Check("expect_column_values_to_match_regex", {"column": "prompt", "regex": "(a"}, severity="warning"),
        Check("expect_column_mean_to_be_between", {"column": "prompt", "min_value": 0}, severity="info"),
        Check("expect_column_values_to_match_regex", {"column": "reward", "regex": "a"}, severity="warning"),
        Check("expect_column_values_to_be_of_type", {"column": "reward", "type_": "Flaot64"}, severity="warning"),
        Check("expect_column_values_to_match_json_schema", {"column": "prompt", "json_schema": {"type": "x"}}, "info"),
        Check(
            "expect_column_kl_divergence_to_be_less_than", {"column": "reward", "partition_object": {"bins": 1}}, "info"
        ),
    )
    judgement = validate_stream(cut(FRAME), Suite("s", (*checks, *SUITE.checks)), name="t")
    errors = [f.error or "" for f in judgement.findings[:7]]
    assert all(f.success is False for f in judgement.findings[:7])
    assert errors[0] == (
        "Suite 's', expect_column_values_to_be_between: There is no column 'nope'. "
        "The columns are: prompt, response, reward."
    )
    assert "regex '(a' is not valid" in errors[1]
    assert "'prompt' is String" in errors[2]
    assert "'reward' is Float64, not text" in errors[3]
    assert "'Flaot64' is no type of Polars" in errors[4]
    assert "JSON schema is not valid" in errors[5]
    assert "Invalid partition object" in errors[6]
    assert judgement.bad.equals(validate_stream(cut(FRAME), SUITE, name="t").bad)
    assert all(f.error is None for f in judgement.findings[7:])


def test_an_expectation_that_fails_while_it_is_asked_what_it_needs_hides_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("no idea")

    monkeypatch.setattr(ExpectColumnValuesToBeFinite, "get_validation_dependencies", fail)
    check = Check("expect_column_values_to_be_finite", {"column": "reward"}, severity="warning")
    others = (Check("expect_column_values_to_not_be_null", {"column": "reward"}, severity="warning"), *SUITE.checks[:2])
    first, *rest = validate_stream(cut(FRAME), Suite("s", (check, *others)), name="t").findings
    assert first.error == "Suite 's', expect_column_values_to_be_finite: no idea"
    assert [finding.error for finding in rest] == [None] * 3


@pytest.mark.parametrize(
    ("expectation", "kwargs"),
    [
        ("column_values_to_be_null", {"column": "nope"}),
        ("column_pair_values_to_be_equal", {"column_A": "prompt", "column_B": "nope"}),
        ("compound_columns_to_be_unique", {"column_list": ["prompt", "nope"]}),
        ("column_distinct_values_to_be_in_set", {"column": "nope", "value_set": ["a"]}),
        ("column_type_to_be", {"column": "nope", "type_": "String"}),
        ("column_mean_to_be_between", {"column": "nope", "min_value": 0}),
    ],
)
def test_a_column_that_is_not_there_is_told_with_suite_and_columns(expectation: Any, kwargs: Any) -> None:
    check = Check(f"expect_{expectation}", kwargs, severity="warning")
    (finding,) = validate_stream(cut(FRAME), Suite("mine", (check,)), name="t").findings
    assert finding.error == (
        f"Suite 'mine', expect_{expectation}: There is no column 'nope'. The columns are: prompt, response, reward."
    )


@pytest.mark.parametrize(
    ("expectation", "kwargs"),
    [
        ("table_row_count_to_equal_other_table", {"other_table_name": "x"}),
        ("column_kl_divergence_to_be_less_than", {"column": "reward", "threshold": 0.1}),
        (
            "query_results_to_match_comparison",
            {"base_query": "SELECT 1", "comparison_query": "SELECT 1", "comparison_data_source_name": "x"},
        ),
    ],
)
def test_what_is_not_served_says_so_and_hides_nothing(expectation: Any, kwargs: Any) -> None:
    check = Check(f"expect_{expectation}", kwargs, severity="warning")
    finding, *others = validate_stream(cut(FRAME), Suite("s", (check, *SUITE.checks)), name="t").findings
    assert finding.success is False
    assert (finding.error or "").startswith(f"Suite 's', expect_{expectation}: The Polars engine ")
    assert all(other.error is None for other in others)


def test_a_regex_that_polars_cannot_run_is_run_by_python_and_noted() -> None:
    check = Check("expect_column_values_to_match_regex", {"column": "prompt", "regex": "^(?!d)"}, severity="warning")
    stream = Counted(FRAME.schema, [FRAME[:3], FRAME[3:]])
    (finding,) = validate_stream(stream, Suite("s", (check,)), name="t").findings
    assert (finding.success, finding.unexpected, finding.error) == (False, 2, None)
    assert "'^(?!d)'" in (finding.note or "")
    assert "Python" in (finding.note or "")
    assert stream.passes == 1


def test_a_critical_check_that_cannot_be_made_refuses_the_data() -> None:
    frame = FRAME.rename({"response": "answer"})
    with pytest.raises(
        DataRefusedError, match=r"unit 7.*'prompt_response'.*'response'.*prompt, answer, reward"
    ) as caught:
        validate_stream(cut(frame), SUITE, name="unit 7")
    assert caught.value.column == "response"


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (Check("expect_nonsense", {}), "expect_nonsense can't be made"),
        (Check("expect_column_values_to_not_be_null", {"colum": "a"}, reason="x"), "can't be made"),
        (Check("expect_column_values_to_not_be_null", {"column": "prompt"}), "needs a `reason`"),
    ],
)
def test_a_suite_that_cannot_be_made_is_a_config_error(check: Any, words: Any) -> None:
    with pytest.raises(ConfigError, match=words):
        validate_stream(cut(FRAME), Suite("s", (check,)), name="t")


def test_threads_get_their_own_answers() -> None:
    def judged(number: Any) -> Any:
        frame = pl.DataFrame({"response": ["x"] * 50 + [""] * number, "reward": [1.0] * 50 + [None] * number})
        judgement = validate_stream(cut(frame, 10, 40), suite_for("prompt_response", frame.to_arrow().schema), name="t")
        return judgement.rows, judgement.bad["row"].to_list(), [f.unexpected for f in judgement.findings]

    numbers = list(range(1, 41))
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(judged, numbers))
    assert answers == [(50 + n, list(range(50, 50 + n)), [0, n, 0, n]) for n in numbers]
