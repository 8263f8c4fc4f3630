"""Suites as values into suites of Great Expectations."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

import great_expectations as gx
from great_expectations.compatibility.pydantic import ValidationError
from great_expectations.exceptions.exceptions import ExpectationNotFoundError
from great_expectations.expectations.expectation import (
    ColumnMapExpectation,
    ColumnPairMapExpectation,
    Expectation,
    MulticolumnMapExpectation,
)
from great_expectations.expectations.metadata_types import FailureSeverity
from great_expectations.expectations.registry import get_expectation_impl

from rollmill.checks import columns_of
from rollmill.errors import ConfigError
from rollmill.expectations.engine import own  # noqa: F401 - registers expectations
from rollmill.expectations.engine.stock import ExpectColumnValuesToBeInTypeList, ExpectColumnValuesToBeOfType
from rollmill.expectations.suites import Check, Suite

POSITION: Final = "position"
"""The member of an expectation's meta that says which check of the suite it is: results come in another order."""

_ROW_LEVEL: Final = (ColumnMapExpectation, ColumnPairMapExpectation, MulticolumnMapExpectation)
_OF_TYPES: Final = (ExpectColumnValuesToBeOfType, ExpectColumnValuesToBeInTypeList)
_NOT_ARGUMENTS: Final = {"id", "meta", "notes", "description", "rendered_content", "severity", "batch_id"}


def to_gx(suite: Suite) -> gx.ExpectationSuite:
    """Make the expectations of a suite.

    Raises ConfigError if one is not known, its arguments don't fit, or it is critical, row-level and has no reason.
    """
    expectations = [_expectation(check, position, suite.name) for position, check in enumerate(suite.checks)]
    return gx.ExpectationSuite(suite.name, expectations=expectations)


def is_row_level(expectation: Expectation) -> bool:
    """Say whether an expectation judges record by record: values of a Polars column all have its type."""
    return isinstance(expectation, _ROW_LEVEL) and not isinstance(expectation, _OF_TYPES)


def _expectation(check: Check, position: int, suite: str) -> Expectation:
    try:
        kind = get_expectation_impl(check.type)
        made = kind(**check.kwargs, severity=FailureSeverity(check.severity), meta={**check.meta, POSITION: position})
    except (ExpectationNotFoundError, ValueError, TypeError) as error:
        why = _why(error, check)
        raise ConfigError(f"Suite {suite!r}: {_named(check)} can't be made: {why}.") from error
    if is_row_level(made) and check.severity == "critical" and check.reason is None:
        raise ConfigError(
            f"Suite {suite!r}: {_named(check)} is critical and looks at records, so it needs a "
            "`reason`: the code under which a failing record is put aside."
        )
    return made


def _named(check: Check) -> str:
    columns = columns_of(check.kwargs)
    return f"{check.type} ({', '.join(columns)})" if columns else check.type


def _why(error: Exception, check: Check) -> str:
    """Say what Great Expectations has against the arguments, in one sentence, with the argument that may be meant."""
    if not isinstance(error, ValidationError):
        return str(error)
    fields = get_expectation_impl(check.type).__fields__.keys() - _NOT_ARGUMENTS
    problems = []
    for one in error.errors():
        name = str(one["loc"][0])
        if one["type"] == "value_error.extra":
            near = get_close_matches(name, fields, n=1)
            problems.append(f"there is no argument {name!r}{f', did you mean {near[0]!r}?' if near else ''}")
        elif one["type"] == "value_error.missing":
            problems.append(f"the argument {name!r} is missing")
        else:
            problems.append(one["msg"] if name == "__root__" else f"{name}: {one['msg']}")
    return "; ".join(dict.fromkeys(problems))
