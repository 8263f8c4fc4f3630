"""Equal answers from this engine and from the pandas engine of Great Expectations, but for the differences named."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Final

import pytest
from great_expectations.expectations.row_conditions import Column

from rollmill.expectations import Check
from rollmill.expectations.engine.gallery import served
from tests.docs.pages import DOCS, table
from tests.expectations.engine.parity.both import Said, different
from tests.expectations.engine.parity.differences import DIFFERENCES
from tests.expectations.engine.parity.frames import FRAMES, ODD
from tests.expectations.engine.parity.suites import AGGREGATES, CHECKS, PAIRS, TABLE, TEXTS, VALUES

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # those of pandas and scipy, about what the odd data make them do
    pytest.mark.timeout(600),
]

Case = tuple[Check, Said, Said]
CONDITIONS: Final = [
    Column("g") == 1,
    Column("g") != 2,
    Column("k") != "a",
    Column("v") > 2,
    Column("v") <= 3,
    Column("k").is_in(["a", "b"]),
    Column("k").is_not_in(["a"]),
    Column("v").is_null(),
    Column("v").is_not_null(),
    (Column("g") == 1) & (Column("k") == "a"),
    (Column("g") == 1) | (Column("k").is_null()),
]
NOT_ON_PANDAS: Final = {
    "expect_column_values_to_match_like_pattern",
    "expect_column_values_to_match_like_pattern_list",
    "expect_column_values_to_not_match_like_pattern",
    "expect_column_values_to_not_match_like_pattern_list",
    "expect_column_values_to_be_of_type",
    "expect_column_values_to_be_in_type_list",
    "expect_column_type_to_be",
    "expect_column_values_to_match_json_schema",
}
"""What pandas does not serve, or has other words for: test_served.py has their cases."""

OF_EACH_KIND: Final = {(check.type, check.kwargs.get("ignore_row_if")): check for check in (*PAIRS, *VALUES, *TEXTS)}


@cache
def cases(frame: str, result_format: str) -> list[Case]:
    checks = CHECKS if result_format == "SUMMARY" else list(OF_EACH_KIND.values())
    return list(different(FRAMES[frame], checks, result_format))


def unexplained(found: Iterable[Case]) -> list[Case]:
    return [one for one in found if not any(difference.explains(*one) for difference in DIFFERENCES)]


@pytest.mark.parametrize("frame", FRAMES)
def test_same_as_pandas(frame: str) -> None:
    assert unexplained(cases(frame, "SUMMARY")) == []


@pytest.mark.parametrize("result_format", ["BOOLEAN_ONLY", "BASIC", "COMPLETE"])
def test_same_as_pandas_in_every_result_format(result_format: str) -> None:
    assert unexplained(cases("odd", result_format)) == []


@pytest.mark.parametrize(("number", "condition"), list(enumerate(CONDITIONS)), ids=repr)
def test_same_as_pandas_under_a_row_condition(number: int, condition: Any) -> None:
    some = [*OF_EACH_KIND.values(), *AGGREGATES[number % 3 :: 3], *TABLE[:3]][number % 2 :: 2]
    checks = [Check(c.type, {**c.kwargs, "row_condition": condition.dict()}, severity="warning") for c in some]
    assert unexplained(different(ODD, checks, "SUMMARY")) == []


def test_each_difference_is_there_and_explained_in_the_docs() -> None:
    found = [case for frame in FRAMES for case in cases(frame, "SUMMARY")]
    seen = [one.name for one in DIFFERENCES if any(one.explains(*case) for case in found)]
    assert seen == [one.name for one in DIFFERENCES]
    explained = {row[0] for row in table(DOCS / "expectations.md", "## Differences from pandas")}
    assert set(seen) <= explained


def test_every_expectation_that_is_served_is_compared() -> None:
    compared = {check.type for check in CHECKS}
    assert [name for name, why in served().items() if why is None and name not in compared | NOT_ON_PANDAS] == []
