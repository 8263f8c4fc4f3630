"""The user's own expectations, held against Great Expectations before anything is read."""

from __future__ import annotations

from collections.abc import Iterable

from rollmill.checks import Expectation
from rollmill.config import Source
from rollmill.expectations.suites.amend import own_suite


def check_own(sources: Iterable[Source]) -> None:
    """Make the expectations of sources once. Raises ConfigError naming suite, entry and argument."""
    for source in sources:
        if source.suite:
            _make(source.suite.path, source.suite.expectations)
        if source.expectations:
            _make(f"expectations of source {source.slug}", source.expectations)


def _make(name: str, entries: Iterable[Expectation]) -> None:
    from rollmill.expectations.engine.convert import to_gx

    to_gx(own_suite(name, entries))
