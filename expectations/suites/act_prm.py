"""The suite of the layout `act_prm`: steps with a state, an action, a reward, and a place in their rollout."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from rollmill.expectations.suites.answers import BLANK
from rollmill.expectations.suites.model import Check, Suite

_ACTION: Final = {"column": "action.content"}


def act_prm(schema: pa.Schema) -> Suite:
    """Give the suite for steps with these columns. A reward that is null just was not recorded.

    `action.content` is that member of `action`, and the `step.…` columns are what a step's place in its rollout shows
    (`rollmill.expectations.steps`).
    """
    checks = [
        Check("expect_column_values_to_not_be_null", _ACTION, reason="empty_response"),
        Check("expect_column_values_to_not_match_regex", {**_ACTION, "regex": BLANK}, reason="empty_response"),
    ]
    if "reward" in schema.names and pa.types.is_floating(schema.field("reward").type):
        checks.append(Check("expect_column_values_to_be_finite", {"column": "reward"}, reason="reward_not_finite"))
    return Suite("act_prm", tuple(checks))


STEP_ORDER: Final = Suite(
    "step_order",
    tuple(
        Check("expect_column_values_to_be_in_set", {"column": reason, "value_set": [False]}, reason=reason)
        for reason in ("step_unnumbered", "step_gap", "duplicate_step", "steps_after_end")
    ),
)
"""Whether the steps of rollouts follow each other, judged on what `rollmill.expectations.steps` derives."""
