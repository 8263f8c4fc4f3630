"""Layout prompt_response: a prompt and a response per row, both text, in either order.

A `reward` column is taken where there is one. All other columns are kept in extra_json.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl
import pyarrow as pa

from rollmill.layouts.base import Fit, Origin, is_kind
from rollmill.layouts.rewards import from_reward, to_finite_reward
from rollmill.layouts.text_rows import Source, TextRows, chunk

REWARD_KINDS = frozenset(
    {"env", "outcome", "process_label", "action_likelihood", "reward_model", "critic_score", "unknown"}
)


class PromptResponse(TextRows):
    """Rows say nothing of who made them: role unknown, everything else null."""

    name = "prompt_response"
    version = 1
    required = {"prompt": "string", "response": "string"}
    options = {"reward_kind": REWARD_KINDS}

    def facts(
        self, columns: dict[str, Source], origin: Origin, options: Mapping[str, str]
    ) -> tuple[dict[str, Any], list[pl.Series]]:
        """Take the reward, if there is one; one that is not finite becomes null, its original kept."""
        if "reward" not in columns:
            return {}, []
        field, values = columns.pop("reward")
        rewards, original, lost = to_finite_reward(values)
        if original is not None:
            columns["reward"] = Source(field, original)
        flags = [] if lost is None else [lost.alias("nan_nulled")]
        return {"reward": rewards, "reward_kind": options.get("reward_kind", "unknown")}, flags

    def source_column(self, name: str, rows: pa.Table, extra: pa.Array[Any]) -> pa.Array[Any]:
        """Give a column back."""
        return from_reward(chunk(rows, "reward"), extra, extra.type) if name == "reward" else extra

    def fit(self, types: Mapping[str, str]) -> Fit:
        """Fit, unless a `reward` column can't hold rewards."""
        fit = super().fit(types)
        kind = types.get("reward", "null")
        if is_kind(kind, "reward"):
            return fit
        return replace(fit, problems=(*fit.problems, f"column reward is {kind}, not a number"))
