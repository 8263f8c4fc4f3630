"""The suite of the layout `ppo_critic`: a critic's prompt and answer, the value it gave, its target and its score."""

from __future__ import annotations

import pyarrow as pa

from rollmill.expectations.suites.answers import answer_checks
from rollmill.expectations.suites.model import Check, Suite


def ppo_critic(schema: pa.Schema) -> Suite:
    """Give the suite for records with these columns: `prompt`, `response`, `pred`, `target` and `score`."""
    values = [
        Check("expect_column_values_to_be_finite", {"column": name}, severity="warning")
        for name in ("pred", "target")
        if name in schema.names and not pa.types.is_null(schema.field(name).type)
    ]
    return Suite("ppo_critic", (*answer_checks(schema, reward="score"), *values))
