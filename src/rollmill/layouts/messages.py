"""Lists of chat messages as sources write them -> `schema.MESSAGES`, and back; digests of messages.

A source message is a struct with `role` and `content` and any other members. Members that fit no field of a unified
message stand in its extra_json, nulls left out, so that a struct padded with other rows' keys compares equal to one
that is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from rollmill.identity import cell_digests, combined_id, text_digest
from rollmill.layouts.distinct import Distinct, Ints, distinct
from rollmill.layouts.extras import EMPTY, decode_extras, encode_extras
from rollmill.schema import MESSAGE, MESSAGES

MESSAGES_FORMAT: Final = "messages@1"
UNKNOWN_ROLE: Final = "unknown"
_TEXTS: Final = {
    "content": "content",
    "reasoning_content": "reasoning",
    "tool_call_id": "tool_call_id",
    "name": "name",
}
_LONG: Final = frozenset({"content", "reasoning", "parts_json", "extra_json"})


def to_messages(lists: pa.Array[Any]) -> tuple[pa.Array[Any], pa.Array[Any]]:
    """Turn lists of source messages into lists of unified ones; null lists stay null.

    Returns them, and which lists hold a null message or role: those become messages of role `unknown`, and
    `from_messages` does not give such a list back.
    """
    flat = lists.flatten()
    roles = message_roles(flat)
    odd = _any_per_list(pc.is_null(roles), list_lengths(lists))
    return make_lists(list_lengths(lists), _unify(flat, roles), lists.is_null()), odd


def message_members(logical: str) -> dict[str, str] | None:
    """Read the members of a struct's logical type (`identity.logical_type`); None if it is no struct."""
    if not logical.startswith("struct<"):
        return None
    rest, members = logical[len("struct<") : -1], {}
    while rest:
        length, _, rest = rest.partition(":")
        name, rest = rest[: int(length)], rest[int(length) + 1 :]
        kind = _first_type(rest)
        members[name], rest = kind, rest[len(kind) + 1 :]
    return members


def _first_type(text: str) -> str:
    depth = 0
    for at, character in enumerate(text):
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "," and not depth:
            return text[:at]
    return text


def from_messages(lists: pa.Array[Any], kind: pa.DataType) -> pa.Array[Any]:
    """Undo `to_messages` for a list type."""
    flat = source_messages(lists.flatten(), kind.value_type)
    return make_lists(list_lengths(lists), flat, lists.is_null(), kind)


def struct_lists(structs: pa.StructArray) -> pa.Array[Any]:
    """Make each struct a list of one, and each null an empty list."""
    valid = structs.is_valid()
    return make_lists(valid.cast(pa.int64()).to_numpy(), structs.filter(valid), None, pa.list_(structs.type))


def only_struct(lists: pa.Array[Any]) -> pa.Array[Any]:
    """Undo `struct_lists`: the first of each list, null for an empty one."""
    lengths = list_lengths(lists)
    places = pa.array(np.cumsum(lengths) - lengths, pa.int64(), mask=lengths == 0)
    return lists.flatten().take(places)


def make_lists(
    lengths: Ints, flat: pa.Array[Any], null: pa.Array[Any] | None, kind: pa.DataType = MESSAGES
) -> pa.Array[Any]:
    """Build lists of the given lengths over values; `null` marks lists that are null."""
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    mask = null if null is not None and pc.any(null).as_py() else None
    return pa.ListArray.from_arrays(offsets, flat, type=kind, mask=mask)


def list_lengths(lists: pa.Array[Any]) -> Ints:
    """Give the length of each list, 0 for null."""
    lengths: Ints = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths


def _any_per_list(flags: pa.Array[Any], lengths: Ints) -> pa.Array[Any]:
    counts = np.concatenate([[0], np.cumsum(flags.to_numpy(zero_copy_only=False))])
    ends = np.cumsum(lengths)
    return pa.array(counts[ends] > counts[ends - lengths])


def _members(flat: pa.StructArray) -> dict[str, tuple[pa.Field, pa.Array[Any]]]:
    return {field.name: (field, array) for field, array in zip(flat.type, flat.flatten(), strict=True)}


def message_roles(flat: pa.StructArray) -> pa.Array[Any]:
    """Give the role of each source message, null where a message or its role is."""
    roles = _members(flat).get("role")
    return pa.nulls(len(flat), pa.string()) if roles is None else roles[1].cast(pa.string())


def _unify(flat: pa.StructArray, roles: pa.Array[Any]) -> pa.StructArray:
    members = _members(flat)
    members.pop("role", None)
    fields = {field.name: pa.nulls(len(flat), field.type) for field in MESSAGE}
    fields["role"] = pc.fill_null(roles, UNKNOWN_ROLE)
    for name, unified in _TEXTS.items():
        if name in members and pa.types.is_string(members[name][0].type):
            fields[unified] = members.pop(name)[1]
    if calls := members.get("tool_calls"):
        fields["tool_calls"] = _tool_calls(calls[1])
    fields["extra_json"] = _extras(members, len(flat))
    return pa.StructArray.from_arrays([fields[f.name] for f in MESSAGE], fields=list(MESSAGE))


def _extras(members: Mapping[str, tuple[pa.Field, pa.Array[Any]]], length: int) -> pa.Array[Any]:
    """Render members as JSON; null for messages that have none of them."""
    held = {name: pair for name, pair in members.items() if pair[1].null_count < length}
    if not held:
        return pa.nulls(length, pa.string())
    any_held = np.any([array.is_valid().to_numpy(zero_copy_only=False) for _, array in held.values()], axis=0)
    some = pa.array(any_held)
    texts = encode_extras({n: (f, a.filter(some)) for n, (f, a) in held.items()}, int(any_held.sum()))
    return _spread(texts.to_arrow().cast(pa.string()), any_held)


def _spread(values: pa.Array[Any], where: npt.NDArray[np.bool_]) -> pa.Array[Any]:
    """Put values, in order, where the mask holds; null elsewhere."""
    return values.take(pa.array(np.cumsum(where) - 1, pa.int64(), mask=~where))


def _tool_calls(calls: pa.Array[Any]) -> pa.Array[Any]:
    """Give calls of the OpenAI form, arguments as text; null for lists that are not whole. extra_json has all."""
    target = MESSAGE.field("tool_calls").type
    if not (pa.types.is_list(calls.type) and pa.types.is_struct(calls.type.value_type)):
        return pa.nulls(len(calls), target)
    flat = calls.flatten()
    members = {name: array for name, (_, array) in _members(flat).items()}
    function = members.get("function")
    if function is not None and pa.types.is_struct(function.type):
        members |= {name: array for name, (_, array) in _members(function).items()}
    texts = {name: _text_or_null(members.get(name), len(flat)) for name in ("id", "name", "arguments")}
    missing = pc.is_null(texts["name"])
    lengths = list_lengths(calls)
    broken = pc.or_(calls.is_null(), _any_per_list(missing, lengths))
    texts["name"] = pc.fill_null(texts["name"], "")
    unified = pa.StructArray.from_arrays([texts[f.name] for f in target.value_type], fields=list(target.value_type))
    return make_lists(lengths, unified, broken, target)


def _text_or_null(array: pa.Array[Any] | None, length: int) -> pa.Array[Any]:
    return array if array is not None and pa.types.is_string(array.type) else pa.nulls(length, pa.string())


def source_messages(flat: pa.StructArray, kind: pa.StructType) -> pa.StructArray:
    """Give the source structs of unified messages."""
    fields = {name: array for name, (_, array) in _members(flat).items()}
    known = {"role": fields["role"]}
    for field in kind:
        if field.name in _TEXTS and pa.types.is_string(field.type):
            known[field.name] = fields[_TEXTS[field.name]]
    others = {field.name: field for field in kind if field.name not in known}
    texts = fields["extra_json"]
    where = texts.is_valid().to_numpy(zero_copy_only=False)
    held = decode_extras(pc.fill_null(texts.filter(pa.array(where)), EMPTY), others)
    arrays = known | {name: _spread(array, where) for name, array in held.items()}
    return pa.StructArray.from_arrays([arrays[f.name].cast(f.type) for f in kind], fields=list(kind))


def message_digests(flat: pa.StructArray, known: Distinct | None = None) -> pl.Series:
    """Hash unified messages, all fields: 32 hex characters each. `known` spares looking for equal ones."""
    found = known or distinct(flat)
    digests = [_field_digests(name, array) for name, (_, array) in _members(found.values(flat)).items()]
    return combined_id("message", *digests).gather(found.places)


def _field_digests(name: str, array: pa.Array[Any]) -> pl.Series | None:
    if array.null_count == len(array):
        return None
    return text_digest(pl.Series(pl.from_arrow(array))) if name in _LONG else cell_digests(array)


def messages_digest(lists: pa.Array[Any], known: Distinct | None = None) -> pl.Series:
    """Hash each list of unified messages: 64 hex characters. `known` as in `message_digests`."""
    lengths = list_lengths(lists)
    return list_digests(message_digests(lists.flatten(), known), np.cumsum(lengths) - lengths, lengths)


def list_digests(digests: pl.Series, starts: Ints, lengths: Ints) -> pl.Series:
    """Hash ranges of message digests: 64 hex characters for each."""
    items = digests.to_arrow().cast(pa.string()).take(pa.array(ranges(starts, lengths)))
    lists = pl.Series("items", pl.from_arrow(make_lists(lengths, items, None, pa.list_(pa.string()))))
    return text_digest(lists.list.join(""))


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """Give the numbers start, …, start + length - 1 of each pair, one after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    numbers: Ints = np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - lengths), lengths)
    return numbers
