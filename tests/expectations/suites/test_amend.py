from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from rollmill.checks import Expectation
from rollmill.expectations import Check, Suite, digest_for, suite_for
from rollmill.expectations.suites.amend import amended, own_suite

NOT_NULL, REGEX = "expect_column_values_to_not_be_null", "expect_column_values_to_not_match_regex"
SUITE = Suite(
    "s",
    (
        Check(NOT_NULL, {"column": "a"}, reason="a_missing"),
        Check(REGEX, {"column": "a", "regex": "x"}, reason="x"),
        Check(REGEX, {"column": "a", "regex": "y"}, reason="y"),
        Check(NOT_NULL, {"column": "b"}, severity="warning"),
    ),
)


def own(kind: str, column: str, severity: str = "critical", reason: str | None = None, **kwargs: Any) -> Expectation:
    return Expectation.model_validate(
        {"type": kind, "kwargs": {"column": column, **kwargs}, "severity": severity, "reason": reason}
    )


def told(suite: Suite) -> list[tuple[str, str, str | None]]:
    return [(check.kwargs["column"], check.severity, check.reason) for check in suite.checks]


def test_an_expectation_of_the_same_type_and_column_stands_in_its_place() -> None:
    assert told(amended(SUITE, [own(NOT_NULL, "a", "warning")])) == [
        ("a", "warning", None),
        ("a", "critical", "x"),
        ("a", "critical", "y"),
        ("b", "warning", None),
    ]


def test_it_stands_for_all_of_that_type_and_column() -> None:
    checks = amended(SUITE, [own(REGEX, "a", reason="z", regex="z")]).checks
    assert [check.reason for check in checks] == ["a_missing", "z", None]
    assert checks[1].kwargs == {"column": "a", "regex": "z"}


def test_off_drops_and_what_is_new_follows_at_the_end() -> None:
    suite = amended(SUITE, [own(REGEX, "a", "off"), own(NOT_NULL, "c", reason="c_missing")])
    assert told(suite) == [("a", "critical", "a_missing"), ("b", "warning", None), ("c", "critical", "c_missing")]


def test_a_later_one_wins_over_an_earlier_one() -> None:
    suite = amended(SUITE, [own(NOT_NULL, "c", reason="one"), own(NOT_NULL, "c", reason="two")])
    assert told(suite)[-1] == ("c", "critical", "two")
    assert len(suite.checks) == 5


def test_a_condition_makes_another_domain() -> None:
    condition = {"type": "nullity", "column": {"name": "b"}, "is_null": True}
    assert len(amended(SUITE, [own(NOT_NULL, "a", "info", row_condition=condition)]).checks) == 5


def test_nothing_of_the_users_own_changes_nothing() -> None:
    assert amended(SUITE, []) is SUITE


def test_the_own_suite_leaves_out_what_only_drops() -> None:
    assert told(own_suite("mine", [own(NOT_NULL, "a", "off"), own(NOT_NULL, "b", "info")])) == [("b", "info", None)]


@pytest.mark.parametrize("layout", ["prompt_response", "ppo_critic", "act_prm"])
def test_expectations_enter_the_digest_of_every_layout(layout: str) -> None:
    schema = pa.schema({"prompt": pa.string(), "response": pa.string()})
    one, other = ([own(NOT_NULL, "x", reason=reason)] for reason in ("one", "other"))
    assert len({digest_for(layout, schema, entries) for entries in ((), one, other)}) == 3
    assert suite_for(layout, schema, one).checks[-1].reason == "one"
