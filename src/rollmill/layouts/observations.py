"""Messages that follow an action: what the environment answered, apart from what the agent says next.

The agent's next words would tell a reader of this row what to do in the next one, so they stay out of
next_observation: they are kept in extra_json, under the source column's name.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from rollmill.layouts.extras import EMPTY, encode_extras
from rollmill.layouts.messages import from_messages, list_lengths, make_lists, message_roles, ranges, to_messages

AGENT_ROLES: Final = ("assistant", "ai", "gpt", "model")

t = pa.types


def to_observations(field: pa.Field, values: pa.Array[Any]) -> tuple[pa.Array[Any], pl.Series]:
    """Give the messages before the agent's first (or the first without a role), and the others as JSON objects."""
    flat, lengths = values.flatten(), list_lengths(values)
    roles = message_roles(flat)
    stops = pc.fill_null(pc.is_in(pc.utf8_lower(roles), pa.array(AGENT_ROLES)), fill_value=True)
    stopped = np.concatenate([[0], np.cumsum(pc.or_(stops, pc.is_null(roles)).to_numpy(zero_copy_only=False))])
    ends = np.cumsum(lengths)
    leads = stopped[1:] == np.repeat(stopped[ends - lengths], lengths)
    counts = np.concatenate([[0], np.cumsum(leads)])
    lead_lengths = counts[ends] - counts[ends - lengths]
    lead = make_lists(lead_lengths, flat.filter(pa.array(leads)), values.is_null(), values.type)
    rest_lengths = lengths - lead_lengths
    rest = make_lists(rest_lengths, flat.filter(pa.array(~leads)), pa.array(rest_lengths == 0), values.type)
    return to_messages(lead)[0], json_objects(field, rest)


def from_observations(observations: pa.Array[Any], rest: pa.Array[Any]) -> pa.Array[Any]:
    """Undo `to_observations`: the messages, and behind them those that were kept apart."""
    lead = from_messages(observations, rest.type)
    lengths = np.column_stack([list_lengths(lead), list_lengths(rest)])
    starts = np.cumsum(lengths, axis=0) - lengths
    starts[:, 1] += lengths[:, 0].sum()
    pool = pa.concat_arrays([lead.flatten(), rest.flatten()])
    flat = pool.take(pa.array(ranges(starts.ravel(), lengths.ravel())))
    return make_lists(lengths.sum(axis=1), flat, lead.is_null(), rest.type)


def json_objects(field: pa.Field, values: pa.Array[Any]) -> pl.Series:
    """Do what `encode_extras` does for one column, without a step per row where the type has only text and integers."""
    if not _is_plain(field.type):
        return encode_extras({field.name: (field, values)}, len(values))
    cells = pl.Series("v", pl.from_arrow(values)).to_frame()
    objects = pl.struct(pl.col("v").alias(field.name)).struct.json_encode()
    return cells.select(pl.when(pl.col("v").is_not_null()).then(objects).otherwise(pl.lit(EMPTY))).to_series()


def merged_objects(first: pl.Series, second: pl.Series) -> pl.Series:
    """Put the members of two JSON objects, row by row, in one."""
    a, b = pl.col("a"), pl.col("b")
    both = a.str.head(-1) + "," + b.str.slice(1)
    merged = pl.when(b == EMPTY).then(a).when(a == EMPTY).then(b).otherwise(both)
    return pl.DataFrame({"a": first, "b": second}).select(merged.alias("extra_json")).to_series()


def _is_plain(kind: pa.DataType) -> bool:
    if t.is_list(kind):
        return _is_plain(kind.value_type)
    if t.is_struct(kind):
        return kind.num_fields > 0 and all(_is_plain(f.type) and not f.metadata for f in kind)
    return bool(t.is_string(kind) or t.is_boolean(kind) or t.is_integer(kind))
