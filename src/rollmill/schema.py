"""The unified rollout schema, version 1: one row per decision (SCHEMA in docs/schema.md is generated from here).

Every published file has exactly these columns, in this order, with these Arrow types and nullability.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

SCHEMA_VERSION: Final = 1

TOOL_CALL: Final = pa.struct(
    [pa.field("id", pa.string()), pa.field("name", pa.string(), nullable=False), pa.field("arguments", pa.string())]
)
MESSAGE: Final = pa.struct(
    [
        pa.field("role", pa.string(), nullable=False),
        pa.field("content", pa.string()),
        pa.field("reasoning", pa.string()),
        pa.field("tool_calls", pa.list_(TOOL_CALL)),
        pa.field("tool_call_id", pa.string()),
        pa.field("name", pa.string()),
        pa.field("trainable", pa.bool_()),
        pa.field("parts_json", pa.string()),
        pa.field("extra_json", pa.string()),
    ]
)
MESSAGES: Final = pa.list_(MESSAGE)
SAMPLING: Final = pa.struct(
    [
        pa.field("temperature", pa.float64()),
        pa.field("top_p", pa.float64()),
        pa.field("top_k", pa.int32()),
        pa.field("max_tokens", pa.int32()),
        pa.field("seed", pa.int64()),
    ]
)
REWARD_COMPONENT: Final = pa.struct(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("value", pa.float64()),
        pa.field("weight", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the unified schema: its Arrow field and what it means."""

    name: str
    type: pa.DataType
    nullable: bool
    meaning: str

    @property
    def field(self) -> pa.Field:
        """The Arrow field."""
        return pa.field(self.name, self.type, nullable=self.nullable)


def _required(name: str, kind: pa.DataType, meaning: str) -> Column:
    return Column(name, kind, nullable=False, meaning=meaning)


def _optional(name: str, kind: pa.DataType, meaning: str) -> Column:
    return Column(name, kind, nullable=True, meaning=meaning)


_STR, _F64, _I32, _I64, _BOOL = pa.string(), pa.float64(), pa.int32(), pa.int64(), pa.bool_()

COLUMNS: Final[tuple[Column, ...]] = (
    _required("row_id", _STR, "primary key"),
    _required("rollout_id", _STR, "the trajectory this row belongs to"),
    _optional("parent_rollout_id", _STR, "the rollout a sub-agent or branch left"),
    _optional("parent_step_idx", _I32, "the step at which it left its parent"),
    _required("prompt_id", _STR, "the rollout's first context: the same prompt has the same id in every dataset"),
    _required("context_id", _STR, "the full context of this row, whatever context_mode stores"),
    _required("content_id", _STR, "context and completion: exact duplicates share it"),
    _optional("group_id", _STR, "samples drawn for one prompt under one policy"),
    _optional("group_size", _I32, "as recorded by the source"),
    _optional("sample_idx", _I32, "position in the group, as recorded by the source"),
    _required("step_idx", _I32, "position in the rollout, the source's own numbering where it has one"),
    _required("num_steps", _I32, "distinct step_idx held for this rollout"),
    _required("candidate_idx", _I32, "alternatives for the same step; 0 otherwise"),
    _optional("is_selected", _BOOL, "the candidate that was carried on"),
    _required("is_last", _BOOL, "last step held here; says nothing about termination"),
    _required("data_source", _STR, "the source's slug, unique in the pipeline"),
    _optional("task_id", _STR, "the source's own task name"),
    _optional("env_name", _STR, "the source's own environment name"),
    _optional("agent_id", _STR, "the source's own agent name"),
    _optional("model_name", _STR, "the source's own model name"),
    _optional("run_id", _STR, "the source's own run name"),
    _required("producer_role", _STR, "actor, critic, reward_model, thought_labeler, human or unknown"),
    _optional("policy_step", _I64, "checkpoint or iteration that produced the row"),
    _optional("policy_step_unit", _STR, "optimizer_step, iteration, batch, epoch or unknown"),
    _optional("policy_version", _STR, "the raw tag, such as train_89"),
    _optional("batch_idx", _I64, "the source's value, uninterpreted"),
    _optional("sampling", SAMPLING, "sampling parameters the source recorded"),
    _optional("created_at", pa.timestamp("us", "UTC"), "when the source says it happened; never ingest time"),
    _required("context", MESSAGES, "what the model was given; [] for none"),
    _required("context_mode", _STR, "full, delta or continuation"),
    _required("context_format", _STR, "how the source wrote the context: messages@1, text@1, …"),
    _required("completion_format", _STR, "how the source wrote the completion"),
    _required("completion", MESSAGES, "what the model gave"),
    _optional("next_observation", MESSAGES, "what the environment answered"),
    _optional("tools_json", _STR, "tool definitions, a JSON array"),
    _optional("context_tokens", _I32, "as declared by the source"),
    _optional("completion_tokens", _I32, "as declared by the source"),
    _optional("reward", _F64, "given to this row; null is not recorded"),
    _required(
        "reward_kind",
        _STR,
        "env, outcome, process_label, action_likelihood, reward_model, critic_score, unknown or none",
    ),
    _optional("rollout_reward", _F64, "of the whole rollout, only if the source says it"),
    _optional("rollout_reward_kind", _STR, "kind of rollout_reward"),
    _optional("reward_components", pa.list_(REWARD_COMPONENT), "named parts; value null is not scored"),
    _optional("preference_rank", _I32, "among the rows of one context_id: 0 best, ties equal"),
    _optional("success", _BOOL, "the source's verdict"),
    _optional("step_return", _F64, "as recorded, units of reward"),
    _optional("discount", _F64, "as recorded"),
    _optional("advantage", _F64, "as recorded, units of reward"),
    _optional("value_pred", _F64, "a critic's prediction"),
    _optional("value_target", _F64, "a critic's target"),
    _optional("ground_truth_json", _STR, "reference answer as JSON"),
    _optional("terminated", _BOOL, "null where the source says nothing"),
    _optional("truncated", _BOOL, "null where the source says nothing; both may be true"),
    _optional("finish_reason", _STR, "stop, length, tool_calls, content_filter, error or aborted"),
    _optional("stop_detail", _STR, "the source's wording"),
    _optional("source_config", _STR, "raw config name"),
    _optional("source_split", _STR, "raw split name"),
    _required("source_digest", _STR, "sha256 of the source file; the manifest maps it to URI, revision and path"),
    _required("source_row", _I64, "0-based record in that file"),
    _required("source_row_hash", _STR, "SHA-256 of the source row"),
    _required("layout", _STR, "name@version of the layout that made the row"),
    _optional("license", _STR, "only where the source row has one"),
    _required("quality_flags", pa.list_(_STR), "sorted flags"),
    _required("extra_json", _STR, "what of the source row fits no column; {} if nothing"),
)

SCHEMA: Final[pa.Schema] = pa.schema([column.field for column in COLUMNS])


def type_name(kind: pa.DataType) -> str:
    """Name a type as the documentation does: `str`, `f64`, `list<message>` and so on."""
    named = {_STR: "str", _F64: "f64", _I32: "i32", _I64: "i64", _BOOL: "bool", MESSAGES: "list<message>"}
    if kind in named:
        return named[kind]
    if pa.types.is_timestamp(kind):
        return f"timestamp[{kind.unit}, {kind.tz}]"
    if pa.types.is_list(kind):
        return f"list<{type_name(kind.value_type)}>"
    fields = (f"{field.name}{'' if field.nullable else '!'}: {type_name(field.type)}" for field in kind)
    return f"struct<{', '.join(fields)}>"


def markdown_table() -> str:
    """Render the columns as the table of docs/schema.md (`!` marks non-null)."""
    lines = ["| column | type | meaning |", "| --- | --- | --- |"]
    lines += [f"| {c.name}{'' if c.nullable else '!'} | {type_name(c.type)} | {c.meaning} |" for c in COLUMNS]
    return "\n".join(lines) + "\n"
