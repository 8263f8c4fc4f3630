"""What a suite says about a stream: per record why it is bad, per expectation what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    the check could not be made; `success` is False then. `note` says how it was made, where that is worth knowing.
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
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome of a suite over `rows` records.

    `bad` has a line per record that fails a critical row-level check, in order: `row`, its 0-based position in the
    stream; `reason`, the first code in the suite's order; `reasons`, all of them in that order, without repeats.
    `findings` has one entry per check, in the suite's order; `failing` the positions of its failing records, None for a
    check that looks at no records or could not be made. `result` is the result of Great Expectations as JSON
    values: no record's text (unless asked for), no time, no id.
    """

    rows: int
    bad: pl.DataFrame
    findings: tuple[Finding, ...]
    failing: tuple[pl.Series | None, ...]
    result: dict[str, Any]


def joined_results(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Give two results (`Judgement.result`) about the same records as one."""
    results = [*first["results"], *second["results"]]
    counted = statistics([one["success"] for one in results])
    name = f"{first['suite_name']}, {second['suite_name']}"
    return first | {"suite_name": name, "success": all_hold(counted), "statistics": counted, "results": results}


def statistics(successes: Sequence[bool]) -> dict[str, Any]:
    """Count expectations as Great Expectations does, by whether each holds."""
    hold = sum(successes)
    return {
        "evaluated_expectations": len(successes),
        "successful_expectations": hold,
        "unsuccessful_expectations": len(successes) - hold,
        "success_percent": 100 * hold / len(successes) if successes else None,
    }


def all_hold(counted: Mapping[str, Any]) -> bool:
    """Say whether all expectations counted hold."""
    return bool(counted["unsuccessful_expectations"] == 0)
