"""Suites as values into suites of Great Expectations."""

from __future__ import annotations

from typing import Final

import great_expectations as gx
from great_expectations.exceptions.exceptions import ExpectationNotFoundError
from great_expectations.expectations.expectation import (
    ColumnMapExpectation,
    ColumnPairMapExpectation,
    Expectation,
    MulticolumnMapExpectation,
)
from great_expectations.expectations.metadata_types import FailureSeverity
from great_expectations.expectations.registry import get_expectation_impl

from rollmill.errors import ConfigError
from rollmill.expectations.engine.finite import ExpectColumnValuesToBeFinite
from rollmill.expectations.suites import Check, Suite

POSITION: Final = "position"
"""The member of an expectation's meta that says which check of the suite it is: results come in another order."""

ROW_LEVEL: Final = (ColumnMapExpectation, ColumnPairMapExpectation, MulticolumnMapExpectation)
OWN: Final = (ExpectColumnValuesToBeFinite.expectation_type,)


def to_gx(suite: Suite) -> gx.ExpectationSuite:
    """Make the expectations of a suite.

    Raises ConfigError if one is not known, its arguments don't fit, or it is critical, row-level and has no reason.
    """
    expectations = [_expectation(check, position, suite.name) for position, check in enumerate(suite.checks)]
    return gx.ExpectationSuite(suite.name, expectations=expectations)


def _expectation(check: Check, position: int, suite: str) -> Expectation:
    try:
        kind = get_expectation_impl(check.type)
        made = kind(**check.kwargs, severity=FailureSeverity(check.severity), meta={**check.meta, POSITION: position})
    except (ExpectationNotFoundError, ValueError, TypeError) as error:
        raise ConfigError(f"Suite {suite!r}, check {position}: {check.type} can't be made: {error}") from error
    if isinstance(made, ROW_LEVEL) and check.severity == "critical" and check.reason is None:
        raise ConfigError(
            f"Suite {suite!r}, check {position}: {check.type} is critical and looks at records, so it needs a "
            "`reason`: the code under which a failing record is put aside."
        )
    return made
