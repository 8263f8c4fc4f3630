"""The suite of the layout `ppo_critic`: a critic's prompt and answer, the value it gave, its target and its score."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from rollmill.expectations.suites.answers import answer_checks, is_text
from rollmill.expectations.suites.model import Check, Suite

ROUNDING: Final = 0.01
"""How far a value may be from the one written in the answer, which has two or more decimals."""

MOSTLY: Final = 0.9
"""Share of answers that must end in their value: a few that don't are what a critic's parser has to live with."""


def ppo_critic(schema: pa.Schema) -> Suite:
    """Give the suite for records with these columns: `prompt`, `response`, `pred`, `target` and `score`."""
    values = [
        Check("expect_column_values_to_be_finite", {"column": name}, severity="warning")
        for name in ("pred", "target")
        if name in schema.names and not pa.types.is_null(schema.field(name).type)
    ]
    return Suite("ppo_critic", (*answer_checks(schema, reward="score"), *values, *_parsed(schema)))


def _parsed(schema: pa.Schema) -> list[Check]:
    """Read the value from the end of the answer again, where both are of a type to do so."""
    types = {field.name: field.type for field in schema}
    pred = types.get("pred", pa.null())
    if not is_text(types.get("response", pa.null())) or not (pa.types.is_floating(pred) or pa.types.is_integer(pred)):
        return []
    kwargs = {"column_A": "response", "column_B": "pred", "tolerance": ROUNDING, "mostly": MOSTLY}
    return [Check("expect_column_pair_values_a_to_end_in_number_b", kwargs, severity="warning")]
