"""One suite on one stream, in a context of its own: nothing is shared between calls, nothing outlives them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import great_expectations as gx
import polars as pl
from great_expectations.core.expectation_validation_result import (
    ExpectationSuiteValidationResult,
    ExpectationValidationResult,
)
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.expectations.registry import get_metric_kwargs
from great_expectations.validator.metric_configuration import MetricConfiguration

from rollmill.expectations.engine.convert import POSITION, ROW_LEVEL, to_gx
from rollmill.expectations.engine.datasource import OPTION
from rollmill.expectations.engine.engine import StreamData
from rollmill.expectations.engine.providers import register
from rollmill.expectations.stream import FrameStream
from rollmill.expectations.suites import Check, Suite

register()

Json = dict[str, Any]


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
    context = gx.get_context(mode="ephemeral")
    context.variables.config.progress_bars = ProgressBarsConfig(globally=False)  # not saved: that costs 10 ms
    source = context.data_sources.add_stream(name="rollmill", nan_is_null=nan_is_null)
    asset = source.add_stream_asset(name="stream")
    batch = asset.get_batch(asset.build_batch_request({OPTION: stream}))
    result_format = {"result_format": "SUMMARY", "exclude_unexpected_values": not values}
    found = batch.validate(to_gx(suite), result_format=result_format)
    engine = source.get_execution_engine()
    data: StreamData = engine.batch_manager.active_batch_data
    ordered = sorted(found.results, key=lambda one: _config(one).meta[POSITION])
    return Session(
        outcomes=tuple(_outcome(one, data, {"result_format": result_format}) for one in ordered),
        rows=data.rows,
        passes=data.passes,
        narrow_bytes=data.narrow_bytes,
        result=_as_json(found, list(zip(suite.checks, ordered, strict=True))),
    )


def _outcome(one: ExpectationValidationResult, data: StreamData, how: Json) -> Outcome:
    error = _error(one)
    failing = None
    expectation = _config(one).to_domain_obj()
    if error is None and isinstance(expectation, ROW_LEVEL):
        name = f"{expectation.map_metric}.unexpected_count"
        asked = get_metric_kwargs(name, expectation.configuration, how)
        metric = MetricConfiguration(name, asked["metric_domain_kwargs"], asked["metric_value_kwargs"])
        failing = data.answers.masks[metric.id].arg_true().cast(pl.Int64)
    return Outcome(bool(one.success), dict(one.result), error, failing)


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


def _as_json(found: ExpectationSuiteValidationResult, pairs: list[tuple[Check, ExpectationValidationResult]]) -> Json:
    """Give the result as JSON values, in the suite's order, without ids, times and tracebacks."""
    for _, one in pairs:
        one.success = bool(one.success)  # that of quantiles is a numpy.bool
    whole: Json = found.to_json_dict()  # type: ignore[no-untyped-call]
    return {
        "suite_name": whole["suite_name"],
        "success": whole["success"],
        "statistics": whole["statistics"],
        "meta": {"great_expectations_version": whole["meta"]["great_expectations_version"]},
        "results": [_one_as_json(check, one) for check, one in pairs],
    }


def _one_as_json(check: Check, one: ExpectationValidationResult) -> Json:
    return {
        "success": one.success,
        "expectation_config": check.as_dict(),
        "result": _standard(one.to_json_dict()["result"]),
        "error": _error(one),
    }


def _standard(value: Any) -> Any:
    """Write numbers that JSON does not have as text."""
    if isinstance(value, dict):
        return {key: _standard(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_standard(member) for member in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
