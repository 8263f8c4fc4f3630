"""The columns of act_prm steps: each to its column of the unified schema, and back."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from rollmill.identity import list_cells
from rollmill.layouts.distinct import distinct, distinct_cells
from rollmill.layouts.extras import encode_extras
from rollmill.layouts.messages import (
    from_messages,
    list_lengths,
    make_lists,
    messages_digest,
    only_struct,
    struct_lists,
    to_messages,
)
from rollmill.layouts.numbers import Floats, from_floats, from_integers, from_text, to_floats, to_integers, to_text
from rollmill.layouts.observations import from_observations, merged_objects, to_observations
from rollmill.layouts.tools import from_tools, to_tools
from rollmill.schema import MESSAGES, SAMPLING

FLOATS: Final = {"reward": "reward", "return_": "step_return", "advantage": "advantage"}
INTEGERS: Final = {
    "timestep": ("step_idx", pa.int32()),
    "generation_id": ("sample_idx", pa.int32()),
    "state_len": ("context_tokens", pa.int32()),
    "batch_id": ("batch_idx", pa.int64()),
}


class Source(NamedTuple):
    """A column of the source: its field and its values."""

    field: pa.Field
    values: pa.Array[Any]


class StepReader:
    """Reads the columns of a batch one by one; what fits no column, or changed on the way, is left for extra_json."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._length = len(batch)
        self._given = {f.name: Source(f, batch.column(i)) for i, f in enumerate(batch.schema)}
        self._left = dict(self._given)
        self._rest: list[pl.Series] = []
        self.cells: dict[str, pl.Series] = {}
        """Digests of source columns that were found on the way (`identity.cell_digests`)."""
        self.digests: dict[str, pl.Series] = {}
        """Of each row the `messages_digest` of its context and completion."""
        self._flags: dict[str, list[pa.Array[Any]]] = {"nan_nulled": [], "sentinel_nulled": []}

    def read(self) -> dict[str, Any]:
        """Give all columns of the unified schema that source columns tell, extra_json and quality_flags with them."""
        unified = self._messages() | self._floats() | self._integers() | self._ending() | self._task_and_tools()
        unified["extra_json"] = reduce(merged_objects, self._rest, encode_extras(self._left, self._length))
        unified["quality_flags"] = self._flag_lists()
        return unified

    def _take(self, name: str) -> Source | None:
        self._left.pop(name, None)
        return self._given.get(name)

    def _keep(self, source: Source, originals: pa.Array[Any] | None) -> None:
        if originals is not None and originals.null_count < len(originals):
            self._left[source.field.name] = Source(source.field, originals)

    def _keep_where(self, source: Source, where: pa.Array[Any]) -> None:
        if pc.any(where).as_py():
            self._keep(source, pc.if_else(where, source.values, pa.scalar(None, source.values.type)))

    def _messages(self) -> dict[str, Any]:
        nothing = make_lists(np.zeros(self._length, np.int64), pa.array([], MESSAGES.value_type), None)
        unified = {"context": nothing, "completion": nothing}
        self.digests |= {name: messages_digest(nothing) for name in unified}
        if state := self._take("state"):
            lists, odd = to_messages(state.values)
            lengths = list_lengths(lists)
            unified["context"] = make_lists(lengths, lists.flatten(), None)
            found = distinct(state.values.flatten())
            self.cells["state"] = list_cells(state.values, distinct_cells(state.values.flatten(), found))
            self.digests["context"] = messages_digest(unified["context"], found)
            self._keep_where(state, pc.or_(odd, pc.and_(state.values.is_valid(), pa.array(lengths == 0))))
        if action := self._take("action"):
            unified["completion"], odd = to_messages(struct_lists(action.values))
            self.digests["completion"] = messages_digest(unified["completion"])
            self._keep_where(action, odd)
        if following := self._take("next_obs"):
            if not is_messages(following.values.type):
                self._keep(following, following.values)
            else:
                unified["next_observation"], rest = to_observations(*following)
                self._rest.append(rest)
        return unified

    def _floats(self) -> dict[str, Any]:
        unified: dict[str, Any] = {}
        for name, column in FLOATS.items():
            if source := self._take(name):
                hide = self._uncomputed(source.values) if name == "advantage" else None
                unified[column] = self._finite(source, to_floats(source.values, hide))
        if source := self._take("temperature"):
            values = self._finite(source, to_floats(source.values))
            members = [values if f.name == "temperature" else pa.nulls(self._length, f.type) for f in SAMPLING]
            unified["sampling"] = pa.StructArray.from_arrays(members, fields=list(SAMPLING), mask=values.is_null())
        return unified

    def _finite(self, source: Source, floats: Floats) -> pa.Array[Any]:
        self._keep(source, floats.originals)
        self._flags["nan_nulled"].append(floats.lost)
        return floats.values

    def _uncomputed(self, advantages: pa.Array[Any]) -> pa.Array[Any]:
        """Find advantages that stand for none, whatever their value."""
        computed = self.booleans("advantage_is_computed")
        hide = pc.and_(pc.fill_null(pc.invert(computed), fill_value=False), advantages.is_valid())
        self._flags["sentinel_nulled"].append(hide)
        return hide

    def _integers(self) -> dict[str, Any]:
        unified = {}
        for name, (column, kind) in INTEGERS.items():
            if source := self._take(name):
                unified[column], originals = to_integers(source.values, kind)
                self._keep(source, originals)
        return unified

    def _ending(self) -> dict[str, Any]:
        done, truncated = self.booleans("done"), self.booleans("truncated")
        terminated = pc.if_else(done.is_valid(), pc.and_kleene(done, pc.invert(truncated)), pa.scalar(None, pa.bool_()))
        if self._is_boolean("truncated"):
            self._take("truncated")
        if self._is_boolean("done") and (source := self._take("done")):
            same = pc.fill_null(pc.equal(_done(terminated, truncated), done), fill_value=False)
            self._keep_where(source, pc.and_(done.is_valid(), pc.invert(same)))
        return {"terminated": terminated, "truncated": truncated}

    def _task_and_tools(self) -> dict[str, Any]:
        unified: dict[str, Any] = {}
        if source := self._take("unique_data_sample_id"):
            unified["task_id"] = to_text(source.values)
            kind = source.field.type
            if not (pa.types.is_string(kind) or pa.types.is_integer(kind)):
                self._keep(source, source.values)
        if source := self._take("tools"):
            found = distinct(source.values)
            self.cells["tools"] = distinct_cells(source.values, found)
            unified["tools_json"], originals = to_tools(*source, found)
            self._keep(source, originals)
        return unified

    def booleans(self, name: str) -> pa.Array[Any]:
        """Give a column's truth values; null where it has none."""
        return self._given[name].values if self._is_boolean(name) else pa.nulls(self._length, pa.bool_())

    def floats(self, name: str) -> pa.Array[Any]:
        """Give a column's finite numbers; null where it has none."""
        return (
            to_floats(self._given[name].values).values if name in self._given else pa.nulls(self._length, pa.float64())
        )

    def _is_boolean(self, name: str) -> bool:
        return name in self._given and pa.types.is_boolean(self._given[name].field.type)

    def _flag_lists(self) -> pl.Series | list[str]:
        """Put per row the names of the flags that hold, sorted."""
        flags = {name: reduce(pc.or_, held) for name, held in sorted(self._flags.items()) if held}
        if not any(pc.any(flag).as_py() for flag in flags.values()):
            return []
        frame = pl.DataFrame({name: pl.Series(pl.from_arrow(flag)) for name, flag in flags.items()})
        named = [pl.when(pl.col(name)).then(pl.lit(name)) for name in flags]
        return frame.select(pl.concat_list(named).list.drop_nulls().alias("quality_flags")).to_series()


def is_messages(kind: pa.DataType) -> bool:
    """Whether a type is a list of structs."""
    return bool(pa.types.is_list(kind) and pa.types.is_struct(kind.value_type))


def _done(terminated: pa.Array[Any], truncated: pa.Array[Any]) -> pa.Array[Any]:
    return pc.or_(terminated, pc.fill_null(truncated, fill_value=False))


def restore_column(field: pa.Field, rows: Mapping[str, pa.Array[Any]], originals: pa.Array[Any]) -> pa.Array[Any]:
    """Undo `StepReader.read` for one column; `originals` is what extra_json holds of it (null where nothing)."""
    name = field.name
    if name == "state":
        stated = rows["context"]
        empty = pa.array(list_lengths(stated) == 0)
        lists = make_lists(list_lengths(stated), stated.flatten(), empty)
        return _or_original(originals, from_messages(lists, field.type))
    if name == "action":
        return _or_original(originals, only_struct(from_messages(rows["completion"], pa.list_(field.type))))
    if name == "next_obs":
        return from_observations(rows["next_observation"], originals) if is_messages(field.type) else originals
    if name in FLOATS:
        return from_floats(rows[FLOATS[name]], originals)
    if name == "temperature":
        return from_floats(rows["sampling"].flatten()[0], originals)
    if name in INTEGERS:
        return from_integers(rows[INTEGERS[name][0]], originals)
    if name == "unique_data_sample_id":
        return from_text(rows["task_id"], originals)
    if name == "tools":
        return from_tools(rows["tools_json"], originals, field)
    if pa.types.is_boolean(field.type) and name in {"done", "truncated"}:
        truncated = rows["truncated"]
        return truncated if name == "truncated" else pc.coalesce(originals, _done(rows["terminated"], truncated))
    return originals


def _or_original(originals: pa.Array[Any], values: pa.Array[Any]) -> pa.Array[Any]:
    return values if originals.null_count == len(originals) else pc.if_else(originals.is_valid(), originals, values)
