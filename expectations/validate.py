"""Judge a stream of records by a suite: which are bad and why, and what was found."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any

import polars as pl

from rollmill.errors import DataRefusedError
from rollmill.expectations.engine.session import Outcome, run
from rollmill.expectations.judgement import BAD_SCHEMA, Finding, Judgement
from rollmill.expectations.stream import FrameStream
from rollmill.expectations.suites import Check, Suite


def validate_stream(stream: FrameStream, suite: Suite, *, name: str, values: bool = False) -> Judgement:
    """Judge every record of a stream by a suite, in one pass.

    `name` says in errors and in the result what was judged. NaN is not null: each has its own reason. With `values`,
    the result quotes up to 20 failing values per row-level check, cut at 256 characters; without, it holds positions
    of records only.

    Raises DataRefusedError if a critical check can't be made: its column is not there or of a type it can't judge;
    ConfigError if an expectation of the suite can't be made.
    """
    session = run(stream, suite, values=values, nan_is_null=False)
    pairs = list(zip(suite.checks, session.outcomes, strict=True))
    for check, outcome in pairs:
        _refuse_unjudged(check, outcome, stream, suite, name)
    return Judgement(
        rows=session.rows,
        bad=_bad((check, outcome) for check, outcome in pairs if check.severity == "critical"),
        findings=tuple(_finding(check, outcome, suite) for check, outcome in pairs),
        failing=tuple(outcome.failing for outcome in session.outcomes),
        result={"name": name, **session.result},
    )


def _refuse_unjudged(check: Check, outcome: Outcome, stream: FrameStream, suite: Suite, name: str) -> None:
    if outcome.error is None or check.severity != "critical":
        return
    column = _column(check)
    about = f"column {column!r}" if column else "the table"
    raise DataRefusedError(
        f"{name}: the suite {suite.name!r} can't judge {about} ({check.type}): {outcome.error} "
        f"Columns there: {', '.join(stream.schema) or 'none'}.",
        column=column,
    )


def _bad(critical: Iterable[tuple[Check, Outcome]]) -> pl.DataFrame:
    """Give the records that fail, each with its reasons in the suite's order."""
    failing = [
        pl.DataFrame({"row": outcome.failing}).with_columns(reason=pl.lit(check.reason), order=pl.lit(order))
        for order, (check, outcome) in enumerate(critical)
        if outcome.failing is not None and len(outcome.failing)
    ]
    if not failing:
        return BAD_SCHEMA.to_frame()
    reasons = pl.concat(failing).sort("row", "order").group_by("row", maintain_order=True)
    listed = reasons.agg(reasons=pl.col("reason").unique(maintain_order=True))
    return listed.select("row", pl.col("reasons").list.first().alias("reason"), "reasons")


def _finding(check: Check, outcome: Outcome, suite: Suite) -> Finding:
    result = outcome.result
    return Finding(
        expectation=check.type,
        column=_column(check),
        severity=check.severity,
        reason=check.reason,
        success=outcome.success,
        unexpected=int(result.get("unexpected_count") or 0),
        element_count=int(result.get("element_count") or 0),
        error=outcome.error and f"Suite {suite.name!r}, {check.type}: {outcome.error}",
        observed=_plain(result.get("observed_value")),
        note=(result.get("details") or {}).get("note"),
    )


def _column(check: Check) -> str | None:
    named = [check.kwargs.get(key) for key in ("column", "column_A", "column_B")]
    return ", ".join([str(name) for name in named if name] + list(check.kwargs.get("column_list", ()))) or None


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return value.isoformat() if isinstance(value, dt.date | dt.time) else value
