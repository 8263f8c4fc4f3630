"""Layout prompt_response: a prompt and a response per row, both text, in either order.

A `reward` column is taken where there is one. All other columns are kept in extra_json.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl
import pyarrow as pa

from rollmill.identity import combined_id, source_row_hash, text_digest
from rollmill.layouts.base import Fit, Layout, Origin, assemble
from rollmill.layouts.extras import decode_extras, encode_extras
from rollmill.layouts.rewards import from_reward, is_reward_type, to_reward
from rollmill.layouts.texts import TEXT_FORMAT, one_message, only_content

REWARD_KINDS = frozenset(
    {"env", "outcome", "process_label", "action_likelihood", "reward_model", "critic_score", "unknown"}
)


class PromptResponse(Layout):
    """Rows stay rows: each is a rollout of one step. Texts are kept verbatim (text@1); the group is inferred."""

    name = "prompt_response"
    version = 1
    grain = "row"
    required = {"prompt": "string", "response": "string"}
    options = {"reward_kind": REWARD_KINDS}

    def normalize(
        self, batch: pa.RecordBatch, rows: pa.Int64Array, origin: Origin, options: Mapping[str, str]
    ) -> pa.Table:
        """Turn rows into single-step rollouts (see `Layout.normalize`)."""
        columns = {f.name: (f, batch.column(i)) for i, f in enumerate(batch.schema)}
        lacking = (None, pa.nulls(len(batch)))  # a file may lack what the others of its split have
        texts = {name: columns.pop(name, lacking)[1].cast(pa.string()) for name in self.required}
        digests = {name: text_digest(pl.Series(pl.from_arrow(text))) for name, text in texts.items()}
        rewards, kind = None, "none"
        if "reward" in columns:
            field, given = columns.pop("reward")
            rewards, original = to_reward(given)
            kind = options.get("reward_kind", "unknown")
            if original is not None:
                columns["reward"] = (field, original)
        known = {
            "context": one_message(texts["prompt"], "user"),
            "completion": one_message(texts["response"], "assistant"),
            "reward": rewards,
            "reward_kind": kind,
            "source_row": rows,
            "source_row_hash": source_row_hash(batch, digests),
            "extra_json": encode_extras(columns, len(batch)),
        }
        identity = _identity(digests, pl.Series(pl.from_arrow(rows)), origin)
        return assemble(known | identity | self._constants(origin), len(batch))

    def _constants(self, origin: Origin) -> dict[str, object]:
        return {
            "step_idx": 0,
            "num_steps": 1,
            "candidate_idx": 0,
            "is_last": True,
            "data_source": origin.data_source,
            "producer_role": "unknown",
            "context_mode": "full",
            "context_format": TEXT_FORMAT,
            "completion_format": TEXT_FORMAT,
            "source_config": origin.config,
            "source_split": origin.split,
            "source_digest": origin.digest,
            "layout": self.tag,
            "quality_flags": ["group_inferred"],
        }

    def restore(self, rows: pa.Table, schema: pa.Schema) -> pa.Table:
        """Give source rows back (see `Layout.restore`)."""
        data = rows.combine_chunks()
        fields = {f.name: f for f in schema}
        others = {name: f for name, f in fields.items() if name not in self.required}
        columns = decode_extras(_chunk(data, "extra_json"), others)
        columns["prompt"] = only_content(_chunk(data, "context"))
        columns["response"] = only_content(_chunk(data, "completion"))
        if "reward" in fields:
            columns["reward"] = from_reward(_chunk(data, "reward"), columns["reward"], fields["reward"].type)
        arrays = [columns[f.name].cast(f.type) for f in schema]
        return pa.Table.from_arrays(arrays, schema=schema)

    def fit(self, types: Mapping[str, str]) -> Fit:
        """Fit, unless a `reward` column can't hold rewards."""
        fit = super().fit(types)
        kind = types.get("reward", "null")
        if is_reward_type(kind):
            return fit
        return replace(fit, problems=(*fit.problems, f"column reward is {kind}, not a number"))


def _identity(digests: Mapping[str, pl.Series], rows: pl.Series, origin: Origin) -> dict[str, pl.Series]:
    place = (origin.data_source, origin.config, origin.split)
    record = (*place, origin.digest, origin.ordinal, rows)
    context_id = combined_id("context", "text", digests["prompt"], None)
    return {
        "row_id": combined_id("row", *record, None, 0, 0),
        "rollout_id": combined_id("rollout", *record),
        "prompt_id": context_id,
        "context_id": context_id,
        "content_id": combined_id("content", context_id, "text", digests["response"]),
        "group_id": combined_id("group", *place, None, None, None, "prompt", context_id),
    }


def _chunk(table: pa.Table, name: str) -> pa.Array[Any]:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
