"""Layout act_prm: a row per step of an agent: the chat so far, the action, what came of it.

`normalize` and `restore` are row-local; `rollouts.finish` and `rollouts.expand` do what needs whole rollouts. Texts
stay verbatim (messages@1): thought and tool call are not parted. Thoughts scored by the likelihood of a logged action
(`action_prob` is there) were written by a labeler who was shown that action, so their producer_role is
`thought_labeler`; of other rows the table does not say whose they are: `unknown`, never `actor`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from rollmill.errors import LayoutError
from rollmill.identity import combined_id, source_row_hash
from rollmill.layouts.act_prm_card import COUNTED, card_options, countable
from rollmill.layouts.act_prm_columns import StepReader, restore_column
from rollmill.layouts.base import Fact, Fit, Origin, RolloutLayout, assemble, is_kind
from rollmill.layouts.extras import decode_extras
from rollmill.layouts.messages import MESSAGES_FORMAT, message_members
from rollmill.layouts.numbers import to_integers, to_text
from rollmill.layouts.prompt_response import REWARD_KINDS
from rollmill.layouts.rollouts import FULL, content_ids, context_ids

GENERATION: Final = "generation_id"
SAMPLE_KEY: Final = ("split", "batch_id", "try_step", "unique_data_sample_id")
FACTS: Final = ("run_id", "env_name", "model_name", "policy_step", "policy_step_unit")
"""Options that hold facts of the card, as text."""

_NO_OPTIONS: Final[Mapping[str, str]] = MappingProxyType({})
_OPTIONAL: Final = {"reward": "number", "next_obs": "messages", "truncated": "bool", GENERATION: "number"}


class ActPrm(RolloutLayout):
    """Steps of rollouts, or with `generations: candidates` alternatives for each step, of which one was carried on."""

    name = "act_prm"
    version = 1
    required = {
        "state": "messages",
        "action": "message",
        "timestep": "number",
        "unique_data_sample_id": "any",
        "done": "bool",
    }
    options = {
        "reward_kind": REWARD_KINDS,
        "generations": frozenset({"rollouts", "candidates"}),
        **dict.fromkeys(FACTS, frozenset[str]()),
    }
    key_columns = (*SAMPLE_KEY, GENERATION)
    counted_columns = COUNTED

    def fit(self, types: Mapping[str, str]) -> Fit:
        """Compare a source's columns with what the layout needs; others it knows must be of their kind too."""
        problems = {name: _problem(name, types.get(name), kind) for name, kind in self.required.items()}
        others = {name: _problem(name, types.get(name, "null"), kind) for name, kind in _OPTIONAL.items()}
        near = sum(not problem for problem in problems.values())
        found = tuple(problem for problem in (problems | others).values() if problem)
        return Fit(self.name, frozenset(self.required), near, found)

    def normalize(
        self, batch: pa.RecordBatch, rows: pa.Int64Array, origin: Origin, options: Mapping[str, str]
    ) -> pa.Table:
        """Turn steps into rows, each by itself: contexts in full, num_steps 1, is_last false, is_selected null.

        Raises LayoutError for a step number that is missing or no 32-bit integer.
        """
        reader = StepReader(batch)
        steps = reader.read()
        if steps["step_idx"].null_count:
            raise LayoutError(f"A row has no timestep, or one that is no 32-bit integer, in {origin.data_source}.")
        candidates = _is_candidates(options)
        steps["candidate_idx"] = _candidate_idx(steps, candidates, len(batch))
        facts = _facts(options)
        ids = _ids(batch, rows, origin, reader.digests, steps, facts, candidates=candidates)
        origins = {"source_row": rows, "source_row_hash": source_row_hash(batch, known_cells=reader.cells)}
        constants = self._constants(origin)
        return assemble(constants | origins | steps | facts | ids | _kinds(reader, steps, options), len(batch))

    def restore(self, rows: pa.Table, schema: pa.Schema) -> pa.Table:
        """Give source rows back from rows with full contexts (see `Layout.restore`)."""
        parts = [self._restored(batch, schema) for batch in rows.to_batches()]
        return pa.Table.from_batches(parts, schema=schema)

    def rollout_ids(self, batch: pa.RecordBatch, origin: Origin, options: Mapping[str, str]) -> pl.Series:
        """Give each row's rollout_id, from `key_columns` alone."""
        key = _key(batch, candidates=_is_candidates(options))
        return _of_length(combined_id("rollout", origin.data_source, origin.config, origin.split, *key), len(batch))

    def card_options(self, facts: Mapping[str, str]) -> Mapping[str, str]:
        """Take run, environment, model and batch from the card, and whether generations are candidates."""
        return card_options(facts)

    def countable(self, facts: Mapping[str, str]) -> tuple[Fact, ...]:
        """Count what the card says of steps, rollouts, generations, batch and environment split."""
        return countable(facts)

    def sequence(self, batch: pa.RecordBatch, options: Mapping[str, str] = _NO_OPTIONS) -> pl.DataFrame:
        """Give of each row what its place in its rollout is judged by: rollout, step, candidate, end.

        step is null where it is missing or no 32-bit integer, end where the source says nothing. `rollout` is the
        native key hashed, the same in all files of a split.
        """
        candidates = _is_candidates(options)
        steps = to_integers(_column(batch, "timestep"), pa.int32())[0]
        ends = _column(batch, "done")
        return pl.DataFrame(
            {
                "rollout": _of_length(combined_id("rollout", *_key(batch, candidates=candidates)), len(batch)),
                "step": pl.Series(pl.from_arrow(steps)).cast(pl.Int64),
                "candidate": _integers(batch, GENERATION).fill_null(0).cast(pl.Int32) * int(candidates),
                "end": pl.Series(pl.from_arrow(ends if pa.types.is_boolean(ends.type) else ends.is_valid())),
            },
            schema_overrides={"candidate": pl.Int32},
        )

    def _constants(self, origin: Origin) -> dict[str, Any]:
        return {
            "num_steps": 1,
            "is_last": False,
            "data_source": origin.data_source,
            "context_mode": FULL,
            "context_format": MESSAGES_FORMAT,
            "completion_format": MESSAGES_FORMAT,
            "source_config": origin.config,
            "source_split": origin.split,
            "source_digest": origin.digest,
            "layout": self.tag,
        }

    def _restored(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        known = {f.name: batch.column(i) for i, f in enumerate(batch.schema)}
        originals = decode_extras(known["extra_json"], {f.name: f for f in schema})
        columns = [restore_column(field, known, originals[field.name]).cast(field.type) for field in schema]
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def _problem(name: str, logical: str | None, kind: str) -> str:
    """Say what is wrong with a column; "" if nothing."""
    if logical is None:
        return f"no column {name}"
    if kind == "any" or (kind not in {"messages", "message"} and is_kind(logical, kind)):
        return ""
    if kind not in {"messages", "message"}:
        return f"column {name} is {logical}, not {kind}"
    if logical == "null" and name in _OPTIONAL:
        return ""
    message = logical[len("list<") : -1] if kind == "messages" and logical.startswith("list<") else logical
    members = message_members(message) if (kind == "message") == (message == logical) else None
    form = "a list of messages" if kind == "messages" else "a message"
    if members is None:
        return f"column {name} is {logical}, not {form} (structs of role and content)"
    wrong = [m for m in ("role", "content") if members.get(m) not in {"string", "null"}]
    return f"column {name} is not {form}: no text {' and '.join(wrong)} in {logical}" if wrong else ""


def _is_candidates(options: Mapping[str, str]) -> bool:
    return options.get("generations") == "candidates"


def _column(batch: pa.RecordBatch, name: str) -> pa.Array[Any]:
    """Give a column; nulls where this file lacks one that others of its split have."""
    at = batch.schema.get_field_index(name)
    return batch.column(at) if at >= 0 else pa.nulls(len(batch), pa.bool_())


def _integers(batch: pa.RecordBatch, name: str) -> pl.Series:
    return pl.Series(name, pl.from_arrow(to_integers(_column(batch, name), pa.int64())[0]))


def _of_length(ids: pl.Series, length: int) -> pl.Series:
    """Repeat the one id that constants alone give."""
    return ids if len(ids) == length else ids.new_from_index(0, length)


def _key(batch: pa.RecordBatch, *, candidates: bool) -> list[pl.Series | None]:
    """Give the native key's columns as text, None for one that is missing."""
    names = SAMPLE_KEY if candidates else (*SAMPLE_KEY, GENERATION)
    there = set(batch.schema.names)
    return [to_text(_column(batch, name)).cast(pl.String) if name in there else None for name in names]


def _candidate_idx(steps: Mapping[str, Any], candidates: bool, length: int) -> pa.Array[Any]:  # noqa: FBT001
    zeros = pa.repeat(pa.scalar(0, pa.int32()), length)
    return pc.coalesce(steps["sample_idx"], zeros) if candidates and "sample_idx" in steps else zeros


def _facts(options: Mapping[str, str]) -> dict[str, Any]:
    facts: dict[str, Any] = {name: options[name] for name in FACTS if name in options}
    if "policy_step" in facts:
        facts |= {
            "policy_step": int(facts["policy_step"]),
            "policy_step_unit": options.get("policy_step_unit", "unknown"),
        }
    return facts


def _kinds(reader: StepReader, steps: Mapping[str, Any], options: Mapping[str, str]) -> dict[str, Any]:
    """Say what the reward is and who made the completion."""
    likelihood = reader.floats("action_prob")
    role = pc.if_else(likelihood.is_valid(), "thought_labeler", "unknown")
    if "reward" not in steps:
        return {"producer_role": role, "reward_kind": options.get("reward_kind", "none")}
    if kind := options.get("reward_kind"):
        return {"producer_role": role, "reward_kind": kind}
    equal = pc.fill_null(pc.equal(steps["reward"], likelihood), fill_value=False)
    return {"producer_role": role, "reward_kind": pc.if_else(equal, "action_likelihood", "unknown")}


def _ids(
    batch: pa.RecordBatch,
    rows: pa.Int64Array,
    origin: Origin,
    digests: Mapping[str, pl.Series],
    steps: Mapping[str, Any],
    facts: Mapping[str, Any],
    *,
    candidates: bool,
) -> dict[str, Any]:
    length = len(batch)
    place = (origin.data_source, origin.config, origin.split)
    numbers = [pl.Series(pl.from_arrow(steps[name])) for name in ("step_idx", "candidate_idx")]
    record = (*place, origin.digest, origin.ordinal, pl.Series(pl.from_arrow(rows)), None, *numbers)
    key = _key(batch, candidates=candidates)
    sample = _key(batch, candidates=True)
    context_id = context_ids(digests["context"], steps.get("tools_json", pa.nulls(length, pa.string())))
    policy = (facts.get("run_id"), facts.get("policy_step"), facts.get("policy_version"))
    group = combined_id("group", *place, *policy, "sample", *sample, numbers[0] if candidates else None)
    generated = pl.Series(pl.from_arrow(_column(batch, GENERATION).is_valid()))
    return {
        "row_id": combined_id("row", *record),
        "rollout_id": _of_length(combined_id("rollout", *place, *key), length),
        "prompt_id": context_id,
        "context_id": context_id,
        "content_id": content_ids(context_id, digests["completion"]),
        "group_id": _of_length(group, length).zip_with(generated, pl.Series([None], dtype=pl.String)),
    }
