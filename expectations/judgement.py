"""What a suite says about a stream: per record why it is bad, per expectation what was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import polars as pl

BAD_SCHEMA: Final = pl.Schema([("row", pl.Int64()), ("reason", pl.String()), ("reasons", pl.List(pl.String))])


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check.

    `expectation` is the type, `column` the column or columns (comma-separated) or None for the table; `reason` the code
    of a check that puts records aside. `success` is None where nothing was said. `unexpected` counts failing records
    (0 for aggregates), `element_count` those looked at, nulls included; `observed` is the aggregate. `error` says why
    the check could not be made; `success` is False then.
    """

    expectation: str
    column: str | None
    severity: str
    reason: str | None
    success: bool | None
    unexpected: int
    element_count: int
    error: str | None
    observed: Any = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome of a suite over `rows` records.

    `bad` has a line per record that fails a critical row-level check, in order: `row`, its 0-based position in the
    stream; `reason`, the first code in the suite's order; `reasons`, all of them in that order, without repeats.
    `findings` has one entry per check, in the suite's order. `result` is the result of Great Expectations as JSON
    values: no record's text (unless asked for), no time, no id.
    """

    rows: int
    bad: pl.DataFrame
    findings: tuple[Finding, ...]
    result: dict[str, Any]
