"""Suites as plain values, one per layout. Nothing here imports Great Expectations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from rollmill.errors import ConfigError
from rollmill.expectations.suites.model import Check, Severity, Suite, suite_digest
from rollmill.expectations.suites.prompt_response import prompt_response

__all__ = ["Check", "Severity", "Suite", "suite_digest", "suite_for"]

SUITES: Final[dict[str, Callable[[pa.Schema], Suite]]] = {"prompt_response": prompt_response}


def suite_for(layout: str, schema: pa.Schema) -> Suite:
    """Give the suite of a layout for records with these columns, a pure function of both.

    Raises ConfigError if the layout has no suite.
    """
    if layout not in SUITES:
        raise ConfigError(
            f"There is no suite for the layout {layout!r}. Layouts with one: {', '.join(sorted(SUITES))}."
        )
    return SUITES[layout](schema)
