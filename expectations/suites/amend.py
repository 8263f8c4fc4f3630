"""A layout's suite with what the user's expectations change in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rollmill.checks import Expectation, domain_of
from rollmill.expectations.suites.model import Check, Suite

AMENDED: Final = " and the pipeline's own"
"""What is added to a suite's name."""


def amended(suite: Suite, own: Iterable[Expectation]) -> Suite:
    """Give the suite with the user's expectations, in order.

    One of the same type and columns stands in the place of what was there, or with severity off removes it; others
    follow at the end.
    """
    given = list(own)
    checks = list(suite.checks)
    for entry in given:
        checks = _with(checks, entry)
    return Suite(suite.name + AMENDED, tuple(checks)) if given else suite


def own_suite(name: str, own: Iterable[Expectation]) -> Suite:
    """Give the user's expectations alone, those that drop a built-in check left out."""
    return Suite(name, tuple(check for entry in own if (check := _check(entry)) is not None))


def _with(checks: list[Check], entry: Expectation) -> list[Check]:
    same = [i for i, c in enumerate(checks) if c.type == entry.type and domain_of(c.kwargs) == entry.domain]
    at = same[0] if same else len(checks)
    others = [(i, check) for i, check in enumerate(checks) if i not in same]
    new = _check(entry)
    before, after = ([c for i, c in others if i < at], [c for i, c in others if i > at])
    return [*before, *([] if new is None else [new]), *after]


def _check(entry: Expectation) -> Check | None:
    return None if entry.severity == "off" else Check(entry.type, entry.kwargs, entry.severity, entry.reason)
