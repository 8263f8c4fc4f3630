"""Suites as plain values, one per layout. Nothing here imports Great Expectations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Final

import pyarrow as pa

from rollmill.checks import Expectation
from rollmill.errors import ConfigError
from rollmill.expectations.suites.act_prm import act_prm
from rollmill.expectations.suites.amend import amended
from rollmill.expectations.suites.model import Check, Severity, Suite, suite_digest
from rollmill.expectations.suites.ppo_critic import ppo_critic
from rollmill.expectations.suites.prompt_response import prompt_response

__all__ = ["ENTRY_POINTS", "Check", "Severity", "Suite", "digest_for", "known_suites", "suite_digest", "suite_for"]

ENTRY_POINTS: Final = "rollmill.suites"
SUITES: Final[dict[str, Callable[[pa.Schema], Suite]]] = {
    "act_prm": act_prm,
    "ppo_critic": ppo_critic,
    "prompt_response": prompt_response,
}


def suite_for(layout: str, schema: pa.Schema, own: Sequence[Expectation] = ()) -> Suite:
    """Give the suite of a layout for records with these columns, amended by the user's own expectations.

    A pure function of the three.

    Raises ConfigError if the layout has no suite.
    """
    suites = known_suites()
    if layout not in suites:
        raise ConfigError(
            f"There is no suite for the layout {layout!r}. Layouts with one: {', '.join(sorted(suites))}. "
            f"A package that adds a layout adds its suite under the entry point group {ENTRY_POINTS}."
        )
    return amended(suites[layout](schema), own)


def digest_for(layout: str, schema: pa.Schema, own: Sequence[Expectation] = ()) -> str:
    """Give the digest of `suite_for`."""
    return suite_digest(suite_for(layout, schema, own))


@cache
def known_suites() -> dict[str, Callable[[pa.Schema], Suite]]:
    """Give the suites of all layouts by the layout's name, those of installed packages included."""
    return SUITES | {point.name: point.load() for point in entry_points(group=ENTRY_POINTS)}
