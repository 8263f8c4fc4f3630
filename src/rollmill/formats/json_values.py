"""One line of JSON: parsed exactly, judged by the rules of the reader, and written back as compact text."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_DEPTH = 256
"""Values nested deeper than this are put aside: the limit of Python's parser depends on who calls it."""

_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATES = re.compile("[\ud800-\udfff]")


class LineFault(Exception):  # noqa: N818 - a verdict on a line, not an error of the program
    """A line that is no record: a stable reason code, and what is wrong in words (never the line's text)."""

    def __init__(self, reason: str, what: str) -> None:
        super().__init__(what)
        self.reason = reason
        self.what = what


def parse_line(data: bytes | bytearray) -> tuple[dict[str, Any], int]:
    """Parse a line to a JSON object; also give how many of its top-level cells had half surrogate pairs replaced.

    Values are those of Python's json.loads: exact integers, NaN and Infinity allowed. Raises LineFault with
    bad_json, duplicate_key or invalid_utf8.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise LineFault("invalid_utf8", f"byte {error.start} of the line is not UTF-8") from None
    value = _parse(text)
    if type(value) is not dict:
        raise LineFault("bad_json", f"the line is {json_kind(value)}, not a JSON object")
    nested = any(isinstance(cell, (dict, list)) for cell in value.values())
    if nested and data.count(b"[") + data.count(b"{") > MAX_DEPTH and _is_deeper(value, MAX_DEPTH):
        raise LineFault("bad_json", f"values are nested deeper than {MAX_DEPTH} levels")
    if _ESCAPED_SURROGATE.search(text):
        return _without_surrogates(value)
    return value, 0


def json_kind(value: object) -> str:
    """Name the kind of a parsed JSON value, with its article."""
    kinds = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")


json_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
"""Write a parsed value as compact JSON text, keys in the order of the source."""


def _parse(text: str) -> object:
    try:
        return _decode(text)
    except json.JSONDecodeError as error:
        raise LineFault("bad_json", f"not JSON ({error.msg}, at character {error.pos + 1} of the line)") from None
    except RecursionError:
        raise LineFault("bad_json", f"values are nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise LineFault("bad_json", f"a number can't be read ({error})") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        _refuse_different(pairs)
    return value


def _refuse_different(pairs: list[tuple[str, Any]]) -> None:
    seen: dict[str, str] = {}
    for key, value in pairs:
        text = json.dumps(value, sort_keys=True)
        if seen.setdefault(key, text) != text:
            raise LineFault("duplicate_key", "a JSON object has a key twice with different values")


_decode = json.JSONDecoder(object_pairs_hook=_unique).decode


def _is_deeper(value: object, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)  # type: ignore[attr-defined]
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True


def _without_surrogates(row: dict[str, Any]) -> tuple[dict[str, Any], int]:
    pairs = [(_clean(key), _clean(value)) for key, value in row.items()]
    changed = sum(
        before is not after or old is not new for (old, before), (new, after) in zip(row.items(), pairs, strict=True)
    )
    return _unique(pairs), changed


def _clean(value: Any) -> Any:
    """Replace half surrogate pairs; what needs no change is given back as the same object."""
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value) if _SURROGATES.search(value) else value
    if isinstance(value, list):
        items = [_clean(item) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if isinstance(value, dict):
        pairs = [(_clean(key), _clean(item)) for key, item in value.items()]
        same = all(k is key and v is item for (k, v), (key, item) in zip(pairs, value.items(), strict=True))
        return value if same else _unique(pairs)
    return value
