"""Tool definitions as sources write them -> tools_json, and back.

A column of structs pads each tool with the members of all others; canonical JSON leaves those nulls out, sorts keys
and has no spaces. The source's Arrow type brings the nulls back. Each distinct value is rendered once.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rollmill.layouts.distinct import Distinct
from rollmill.layouts.extras import decode_extras, encode_extras

_KEY = "tools"


def to_tools(field: pa.Field, values: pa.Array[Any], found: Distinct) -> tuple[pa.Array[Any], pa.Array[Any] | None]:
    """Give canonical JSON arrays, null where a value is none, and the originals they do not bring back (else None)."""
    once, places = found.values(values), pa.array(found.places)
    if _is_text(field):
        texts = [None if text is None else _canonical_text(text) for text in once.to_pylist()]
        lost = [text != canonical for text, canonical in zip(once.to_pylist(), texts, strict=True)]
    elif _is_list(field.type):
        texts = [_canonical(json.loads(text).get(_KEY)) for text in encode_extras({_KEY: (field, once)}, len(once))]
        lost = [False] * len(once)
    else:
        texts, lost = [None] * len(once), [True] * len(once)
    tools = pa.array(texts, pa.string()).take(places)
    kept = pc.if_else(pa.array(lost, pa.bool_()).take(places), values, pa.scalar(None, values.type))
    return tools, kept if any(lost) else None


def from_tools(tools: pa.Array[Any], originals: pa.Array[Any], field: pa.Field) -> pa.Array[Any]:
    """Undo `to_tools`: the original where one was kept, else the tools in the source's type."""
    if _is_text(field):
        return pc.coalesce(originals, tools.cast(field.type))
    if not _is_list(field.type):
        return originals
    encoded = pc.dictionary_encode(tools)
    texts = pa.array([f'{{"{_KEY}":{text}}}' for text in encoded.dictionary.to_pylist()], pa.string())
    return decode_extras(texts, {_KEY: field})[_KEY].take(encoded.indices)


def _is_text(field: pa.Field) -> bool:
    return bool(pa.types.is_string(field.type))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind))


def _canonical_text(text: str) -> str | None:
    """Give the canonical form of JSON text; None for what is no JSON array, or holds what JSON or UTF-8 can't."""
    try:
        value = json.loads(text)
        canonical = _canonical(value) if isinstance(value, list) else None
        return canonical if canonical is None or canonical.encode() else None
    except (ValueError, RecursionError):
        return None


def _canonical(value: Any) -> str | None:
    if value is None:
        return None
    return json.dumps(_pruned(value), ensure_ascii=False, sort_keys=True, allow_nan=False, separators=(",", ":"))


def _pruned(value: Any) -> Any:
    """Leave out members that are null, at any depth; null elements of lists stay."""
    if isinstance(value, dict):
        return {key: _pruned(inner) for key, inner in value.items() if inner is not None}
    return [_pruned(inner) for inner in value] if isinstance(value, list) else value
