"""One suite on one stream, by an engine of its own: nothing is shared between calls, nothing outlives them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import great_expectations as gx
import polars as pl
from great_expectations.core.expectation_validation_result import ExpectationValidationResult
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.expectations.registry import get_metric_kwargs
from great_expectations.util import convert_to_json_serializable
from great_expectations.validator.metric_configuration import MetricConfiguration

from rollmill.expectations.engine.convert import POSITION, is_row_level, to_gx
from rollmill.expectations.engine.engine import PolarsExecutionEngine, StreamData
from rollmill.expectations.engine.providers import register
from rollmill.expectations.engine.quiet import QuietValidator
from rollmill.expectations.engine.remembered import Remembered
from rollmill.expectations.engine.stock import NOTE
from rollmill.expectations.judgement import all_hold, statistics
from rollmill.expectations.stream import FrameStream
from rollmill.expectations.suites import Check, Suite

register()

Json = dict[str, Any]
_TEXT: Final = "(text)"
_OF_TABLE: Final = (
    "expect_table",
    "expect_column_to_exist",
    "expect_column_type_to_be",
    "expect_column_values_to_be_of_type",
    "expect_column_values_to_be_in_type_list",
)
"""How expectations begin whose results name columns, not values."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What Great Expectations says about one check.

    `failing` has the positions of the failing records of a row-level check, None for the others. `error` says why the
    check could not be made.
    """

    success: bool
    result: Json
    error: str | None
    failing: pl.Series | None


@dataclass(frozen=True, slots=True)
class Session:
    """A finished run: the outcome of each check in the suite's order, the passes made, the whole result."""

    outcomes: tuple[Outcome, ...]
    rows: int
    passes: int
    narrow_bytes: int
    result: Json


def run(stream: FrameStream, suite: Suite, *, values: bool, nan_is_null: bool) -> Session:
    """Judge a stream by a suite. Results hold failing values if `values` is set, else positions of records."""
    engine = PolarsExecutionEngine(nan_is_null=nan_is_null)
    data = StreamData(engine, stream)
    engine.load_batch_data("stream", data)
    how = {"result_format": {"result_format": "SUMMARY", "exclude_unexpected_values": not values}}
    configurations: list[ExpectationConfiguration] = [
        Remembered.of(expectation) for expectation in to_gx(suite).expectations
    ]
    found = QuietValidator(engine).graph_validate(configurations, runtime_configuration=how)
    ordered = sorted(found, key=lambda one: _config(one).meta[POSITION])
    outcomes = tuple(_outcome(one, data, how, values=values) for one in ordered)
    return Session(
        outcomes=outcomes,
        rows=data.rows,
        passes=data.passes,
        narrow_bytes=data.narrow_bytes,
        result=_as_json(suite, outcomes),
    )


def _outcome(one: ExpectationValidationResult, data: StreamData, how: Json, *, values: bool) -> Outcome:
    error = _error(one)
    failing = None
    expectation = _config(one).to_domain_obj()
    if error is None and is_row_level(expectation):
        name = f"{expectation.map_metric}.unexpected_count"
        asked = get_metric_kwargs(name, expectation.configuration, how)
        metric = MetricConfiguration(name, asked["metric_domain_kwargs"], asked["metric_value_kwargs"])
        failing = data.answers.masks[metric.id].arg_true().cast(pl.Int64)
    of_columns = not expectation.expectation_type.startswith(_OF_TABLE)
    result = _textless(dict(one.result)) if of_columns and not values else dict(one.result)
    return Outcome(bool(one.success), result, error, failing)


def _textless(value: Any) -> Any:
    """Take out texts that stand in columns, such as the most common one; what they are the values of stays."""
    if isinstance(value, dict):
        return {key: member if key == NOTE else _textless(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_textless(member) for member in value]
    return _TEXT if isinstance(value, str) else value


def _config(one: ExpectationValidationResult) -> Any:
    return one.expectation_config


def _error(one: ExpectationValidationResult) -> str | None:
    """Join what went wrong. Great Expectations gives one record, or one per failing metric."""
    info = one.exception_info or {}
    records = [info] if "raised_exception" in info else list(info.values())
    messages = {record["exception_message"] or "unknown" for record in records if record["raised_exception"]}
    return " ".join(sorted(_plain(message, _config(one).type) for message in messages)) or None


def _plain(message: str, expectation: str) -> str:
    if message.startswith("No provider found for"):
        metric = message.removeprefix("No provider found for").split(" using ")[0].strip()
        return f"The Polars engine does not serve {expectation}: it needs the metric {metric!r}."
    if message == "Unable to build EVR":  # the expectation has an answer for each stock engine only
        return f"The Polars engine does not serve {expectation}."
    return message


def _as_json(suite: Suite, outcomes: tuple[Outcome, ...]) -> Json:
    """Give the result as JSON values, in the suite's order, without ids, times and tracebacks."""
    counted = statistics([outcome.success for outcome in outcomes])
    return {
        "suite_name": suite.name,
        "success": all_hold(counted),
        "statistics": counted,
        "meta": {"great_expectations_version": gx.__version__},
        "results": [_one_as_json(check, one) for check, one in zip(suite.checks, outcomes, strict=True)],
    }


def _one_as_json(check: Check, outcome: Outcome) -> Json:
    return {
        "success": outcome.success,
        "expectation_config": check.as_dict(),
        "result": _standard(convert_to_json_serializable(outcome.result)),
        "error": outcome.error,
    }


def _standard(value: Any) -> Any:
    """Write numbers that JSON does not have as text."""
    if isinstance(value, dict):
        return {key: _standard(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_standard(member) for member in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
