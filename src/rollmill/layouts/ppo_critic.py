"""Layout ppo_critic: rollouts of a generative critic: it was given a prompt and answered with reasoning and a value.

`pred` is the value it gave, `target` the value it should have given, `score` its own reward. The policy step stands
in the split's name (`train_89`), nowhere in the rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any

import polars as pl
import pyarrow as pa

from rollmill.layouts.base import Origin
from rollmill.layouts.rewards import from_reward, to_finite_reward
from rollmill.layouts.text_rows import Source, TextRows, chunk

_NUMBERS = {"score": "reward", "pred": "value_pred", "target": "value_target"}
_STEP = re.compile(r"\w*?_(\d+)")


class PpoCritic(TextRows):
    """A critic's text is its own rollout, never an actor's."""

    name = "ppo_critic"
    version = 1
    required = {"prompt": "string", "response": "string", "pred": "number", "target": "number", "score": "reward"}
    options = {"policy_step": frozenset({"from_split", "none"})}

    def facts(
        self, columns: dict[str, Source], origin: Origin, options: Mapping[str, str]
    ) -> tuple[dict[str, Any], list[pl.Series]]:
        """Take score and values; what is not finite becomes null, its original kept."""
        facts: dict[str, Any] = {"reward_kind": "critic_score", "producer_role": "critic", **_policy(origin, options)}
        flags = []
        for name in [name for name in _NUMBERS if name in columns]:
            field, values = columns.pop(name)
            facts[_NUMBERS[name]], original, lost = to_finite_reward(values)
            if original is not None:
                columns[name] = Source(field, original)
            if lost is not None:
                flags.append(lost)
        return facts, [reduce(or_, flags).alias("nan_nulled")] if flags else []

    def source_column(self, name: str, rows: pa.Table, extra: pa.Array[Any]) -> pa.Array[Any]:
        """Give a column back."""
        unified = _NUMBERS.get(name)
        return extra if unified is None else from_reward(chunk(rows, unified), extra, extra.type)


def _policy(origin: Origin, options: Mapping[str, str]) -> dict[str, Any]:
    found = _STEP.fullmatch(origin.split)
    if options.get("policy_step", "from_split") != "from_split" or not found:
        return {}
    return {
        "policy_step": int(found[1]),
        "policy_step_unit": "iteration",
        "policy_version": origin.split,
    }
