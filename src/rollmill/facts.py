"""Facts: what checks of a whole dataset need to know of each published row. Narrow, and without its texts.

Kept in the store beside the rows they tell of, one fact row per row in the same order; never published.
"""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from rollmill.keeping import PREFIX
from rollmill.schema import SCHEMA

FACTS: Final = "facts"
HIDDEN: Final = "..."
"""The text some sources put in place of an observation."""

SENTINEL_FLAG: Final = "sentinel_nulled"
_KEYS: Final = {
    "row_key": "row_id",
    "rollout_key": "rollout_id",
    "prompt_key": "prompt_id",
    "content_key": "content_id",
    "group_key": "group_id",
}
_KEPT: Final = (
    "step_idx",
    "num_steps",
    "candidate_idx",
    "is_last",
    "is_selected",
    "policy_step",
    "reward",
    "rollout_reward",
    "advantage",
    "value_pred",
    "value_target",
    "completion_tokens",
    "terminated",
    "truncated",
    "finish_reason",
    "reward_kind",
    "rollout_reward_kind",
    "producer_role",
    "context_mode",
)
_NUMBERS: Final = tuple(field.name for field in SCHEMA if field.type == pa.float64())
_HEX_DIGITS: Final = 16


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


FACTS_SCHEMA: Final[pa.Schema] = pa.schema(
    [
        *(pa.field(key, pa.uint64(), nullable=SCHEMA.field(name).nullable) for key, name in _KEYS.items()),
        *(SCHEMA.field(name) for name in _KEPT),
        _required("is_first", pa.bool_()),
        _required("is_sample", pa.bool_()),
        _required("all_finite", pa.bool_()),
        _required("advantage_nulled", pa.bool_()),
        _required("is_kept", pa.bool_()),
        _required("context_messages", pa.int32()),
        _required("hidden_messages", pa.int32()),
        _required("context_bytes", pa.int32()),
        _required("completion_bytes", pa.int32()),
    ]
)
"""Keys are the first 8 bytes of ids. Columns named as in the unified schema hold the same; the others:

is_first: the first row of its rollout. is_sample: a row of its group: at the last step that its rollout has in the
group. all_finite: no number of the row is NaN or infinite. advantage_nulled: the source wrote a sentinel. is_kept: bad
by a check, and kept on request. Messages and bytes (UTF-8, of content and reasoning) are those stored, so of a delta
context only what is new.
"""


def facts_of(rows: pa.Table) -> pa.Table:
    """Derive the facts of rows of the unified schema: whole rollouts, together and in order of their steps.

    Returns a table of `FACTS_SCHEMA`, one row for each, in the same order.
    """
    frame = pl.DataFrame(pl.from_arrow(rows.select(list(dict.fromkeys([*_KEYS.values(), *_NUMBERS, "step_idx"])))))
    derived = frame.select(*(_key(pl.col(name)).alias(key) for key, name in _KEYS.items()), *_marks())
    known = {
        **{name: rows.column(name) for name in _KEPT},
        **{name: column.to_arrow() for name, column in derived.to_dict().items()},
        **_flags(rows.column("quality_flags")),
        **_sizes(rows.column("context"), rows.column("completion")),
    }
    arrays = [known[field.name].cast(field.type) for field in FACTS_SCHEMA]
    return pa.Table.from_arrays(arrays, schema=FACTS_SCHEMA)


def _key(ids: pl.Expr) -> pl.Expr:
    return ids.str.slice(0, _HEX_DIGITS).str.to_integer(base=16, dtype=pl.UInt64)


def _marks() -> list[pl.Expr]:
    """Say where rollouts begin, which rows are samples of a group, and whether all numbers are finite."""
    first = _changes("rollout_id")
    part = (first | _changes("group_id")).cum_sum()
    last_step = pl.col("step_idx").last().over(part)
    finite = (pl.col(name).is_finite().fill_null(value=True) for name in _NUMBERS)
    return [
        first.alias("is_first"),
        (pl.col("group_id").is_not_null() & (pl.col("step_idx") == last_step)).alias("is_sample"),
        reduce(and_, finite).alias("all_finite"),
    ]


def _changes(column: str) -> pl.Expr:
    return pl.col(column).ne_missing(pl.col(column).shift(1))


def _flags(lists: pa.ChunkedArray[Any]) -> dict[str, Any]:
    """Say per row which of two kinds of quality flags it has."""
    flags, ends = _flattened(lists)
    found = {"advantage_nulled": pc.equal(flags, SENTINEL_FLAG), "is_kept": pc.starts_with(flags, PREFIX)}
    return {name: pa.array(_sums(mask, ends) > 0) for name, mask in found.items()}


def _sizes(contexts: pa.ChunkedArray[Any], completions: pa.ChunkedArray[Any]) -> dict[str, Any]:
    """Count per row messages and bytes of text."""
    messages, ends = _flattened(contexts)
    answers, answer_ends = _flattened(completions)
    counts = {
        "context_messages": np.diff(ends, prepend=0),
        "hidden_messages": _sums(pc.equal(pc.struct_field(messages, "content"), HIDDEN), ends),
        "context_bytes": _sums(_text_bytes(messages), ends),
        "completion_bytes": _sums(_text_bytes(answers), answer_ends),
    }
    return {name: pa.array(count) for name, count in counts.items()}


def _flattened(lists: pa.ChunkedArray[Any]) -> tuple[pa.ChunkedArray[Any], Any]:
    """Give the items of all lists, and how many there are up to the end of each list."""
    items = pa.chunked_array([chunk.flatten() for chunk in lists.chunks], lists.type.value_type)
    return items, np.cumsum(pc.list_value_length(lists).to_numpy(), dtype=np.int64)


def _text_bytes(messages: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    lengths = (pc.binary_length(pc.struct_field(messages, name)) for name in ("content", "reasoning"))
    return reduce(pc.add, (pc.fill_null(length, 0) for length in lengths))


def _sums(values: pa.ChunkedArray[Any], ends: Any) -> Any:
    """Add up the values of each list, given where it ends; null counts as 0."""
    numbers = pc.fill_null(values.cast(pa.int64()), 0).to_numpy()
    total = np.concatenate([[0], np.cumsum(numbers)])
    return np.diff(total[ends], prepend=0)
