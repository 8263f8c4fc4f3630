"""What layouts share whose rows are a prompt and a response, both text: each row is a rollout of one step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

from rollmill.identity import combined_id, source_row_hash, text_digest
from rollmill.layouts.base import Layout, Origin, assemble
from rollmill.layouts.extras import decode_extras, encode_extras
from rollmill.layouts.texts import TEXT_FORMAT, one_message, only_content

PROMPT, RESPONSE = "prompt", "response"


class Source(NamedTuple):
    """A column of the source: its field and its values."""

    field: pa.Field
    values: pa.Array[Any]


class TextRows(Layout):
    """Texts are kept verbatim (text@1), the group is inferred from the prompt, the rest is kept in extra_json."""

    grain = "row"

    @abstractmethod
    def facts(
        self, columns: dict[str, Source], origin: Origin, options: Mapping[str, str]
    ) -> tuple[dict[str, Any], list[pl.Series]]:
        """Turn columns into unified columns, taking out of `columns` what needs no place in extra_json.

        Returns the unified columns, and per quality flag a boolean series named after it.
        """

    @abstractmethod
    def source_column(self, name: str, rows: pa.Table, extra: pa.Array[Any]) -> pa.Array[Any]:
        """Undo `facts` for one column; `extra` is what extra_json holds of it (null where nothing)."""

    def normalize(
        self, batch: pa.RecordBatch, rows: pa.Int64Array, origin: Origin, options: Mapping[str, str]
    ) -> pa.Table:
        """Turn rows into single-step rollouts (see `Layout.normalize`)."""
        columns = {f.name: Source(f, batch.column(i)) for i, f in enumerate(batch.schema)}
        texts = {name: _text(columns.pop(name, None), len(batch)) for name in (PROMPT, RESPONSE)}
        digests = {name: text_digest(pl.Series(pl.from_arrow(text))) for name, text in texts.items()}
        facts, flags = self.facts(columns, origin, options)
        known = {
            "context": one_message(texts[PROMPT], "user"),
            "completion": one_message(texts[RESPONSE], "assistant"),
            "source_row": rows,
            "source_row_hash": source_row_hash(batch, digests),
            "quality_flags": _flag_lists(flags, len(batch)),
            "extra_json": encode_extras(columns, len(batch)),
        }
        identity = _identity(digests, pl.Series(pl.from_arrow(rows)), origin, facts)
        return assemble(self._constants(origin) | known | identity | facts, len(batch))

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
            "reward_kind": "none",
            "source_config": origin.config,
            "source_split": origin.split,
            "source_digest": origin.digest,
            "layout": self.tag,
        }

    def restore(self, rows: pa.Table, schema: pa.Schema) -> pa.Table:
        """Give source rows back (see `Layout.restore`)."""
        data = rows.combine_chunks()
        others = {f.name: f for f in schema if f.name not in (PROMPT, RESPONSE)}
        extras = decode_extras(chunk(data, "extra_json"), others)
        columns = {name: self.source_column(name, data, extra) for name, extra in extras.items()}
        columns[PROMPT] = only_content(chunk(data, "context"))
        columns[RESPONSE] = only_content(chunk(data, "completion"))
        return pa.Table.from_arrays([_as(columns[f.name], f.type) for f in schema], schema=schema)


def chunk(table: pa.Table, name: str) -> pa.Array[Any]:
    """Give a column as one array."""
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _as(values: pa.Array[Any], kind: pa.DataType) -> pa.Array[Any]:
    """Give values the source's type; Arrow casts nothing to the type of a column of nulls."""
    return pa.nulls(len(values)) if pa.types.is_null(kind) else values.cast(kind)


def _text(column: Source | None, rows: int) -> pa.Array[Any]:
    """Give a column's texts; null where this file lacks a column that others of its split have."""
    return pa.nulls(rows, pa.string()) if column is None else column.values.cast(pa.string())


def _identity(
    digests: Mapping[str, pl.Series], rows: pl.Series, origin: Origin, facts: Mapping[str, Any]
) -> dict[str, pl.Series]:
    place = (origin.data_source, origin.config, origin.split)
    record = (*place, origin.digest, origin.ordinal, rows)
    context_id = combined_id("context", "text", digests[PROMPT], None)
    policy = (facts.get("policy_step"), facts.get("policy_version"))
    return {
        "row_id": combined_id("row", *record, None, 0, 0),
        "rollout_id": combined_id("rollout", *record),
        "prompt_id": context_id,
        "context_id": context_id,
        "content_id": combined_id("content", context_id, "text", digests[RESPONSE]),
        "group_id": combined_id("group", *place, None, *policy, PROMPT, context_id),
    }


def _flag_lists(flags: list[pl.Series], length: int) -> pl.Series | list[str]:
    """Put per row the names of the flags that hold, sorted; the group is inferred in every row."""
    if not any(flag.any() for flag in flags):
        return ["group_inferred"]
    names = sorted([flag.name for flag in flags] + ["group_inferred"])
    frame = pl.DataFrame([*flags, pl.Series("group_inferred", [True]).new_from_index(0, length)])
    named = [pl.when(pl.col(name)).then(pl.lit(name)) for name in names]
    return frame.select(pl.concat_list(named).list.drop_nulls().alias("quality_flags")).to_series()
