"""Findings over a dataset as lines that people read: one per check and source, with its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rollmill.dataset import DatasetCheck
from rollmill.expectations.suites.dataset import MEASURES, Kind, Measure

MOST_PLACES: Final = 5
_FORMS: Final[dict[Kind, str]] = {"share": "{:.1%}", "number": "{:.2f}", "times": "{:.1f}", "rows": "{:.0f}"}


def lines(checks: Iterable[DatasetCheck]) -> list[str]:
    """Tell the warnings among checks that failed."""
    failed: dict[tuple[str | None, str], list[DatasetCheck]] = {}
    for check in checks:
        if not check.success and check.severity == "warning":
            failed.setdefault((check.source, check.check), []).append(check)
    return [_line(sorted(of_one, key=lambda check: -check.off)) for of_one in failed.values()]


def _line(failed: Sequence[DatasetCheck]) -> str:
    """Tell the worst place with its number, and name some of the others."""
    worst = failed[0]
    measure = MEASURES[worst.check]
    form = _FORMS[measure.kind]
    others = ", ".join(check.place for check in failed[1:MOST_PLACES])
    more = f" and {len(failed) - MOST_PLACES} more" if len(failed) > MOST_PLACES else ""
    also = f" Also in {others}{more}." if others else ""
    found = f"{worst.source}, {worst.place}: {form.format(worst.observed)} {measure.says}"
    return f"{found}; expected: {limit_of(measure)}.{also} ({worst.check})"


def limit_of(measure: Measure) -> str:
    """Say in which range a measure should be."""
    form = _FORMS[measure.kind]
    if measure.at_least is not None:
        return f"at least {form.format(measure.at_least)}"
    return f"at most {form.format(measure.at_most)}" if measure.at_most else "none"
