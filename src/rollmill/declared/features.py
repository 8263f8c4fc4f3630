"""Features as HF datasets writes them, in cards (YAML) and in footers of Parquet files (JSON), as Arrow types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from rollmill.formats.logical import logical_type

Features = Mapping[str, pa.DataType | None]
"""Columns in order; the type is None where it has no plain Arrow form, such as an image's."""

_LISTS: Final = ("large_list", "list", "sequence")
_JSON_LISTS: Final = ("LargeList", "List", "Sequence")
_TIMESTAMP: Final = re.compile(r"timestamp\[(s|ms|us|ns),\s*tz=([\w/+:-]+)\]")
_DECIMAL: Final = re.compile(r"decimal(128|256)\((\d{1,2}),\s*(-?\d{1,2})\)")
_MOST_NODES: Final = 20_000
_DEEPEST: Final = 64


class _UnknownError(Exception):
    """A feature of an unknown form."""


def card_features(declared: object) -> Features | None:
    """Read `dataset_info.features` of a card: a list of named features. None for another form."""
    if not isinstance(declared, list) or not all(isinstance(each, dict) and "name" in each for each in declared):
        return None
    reader = _Reader()
    named = [(each["name"], each) for each in declared]
    return {name: reader.column(reader.yaml, feature) for name, feature in named if isinstance(name, str)}


def footer_features(declared: object) -> Features | None:
    """Read `info.features` of a footer: a mapping of names to features. None for another form."""
    if not isinstance(declared, dict):
        return None
    reader = _Reader()
    return {name: reader.column(reader.json, feature) for name, feature in declared.items()}


class _Reader:
    """Reads features, up to a number of nodes and a depth: YAML can repeat a node without end."""

    def __init__(self) -> None:
        self._nodes = 0

    def column(self, read: Any, feature: object) -> pa.DataType | None:
        """Read one column's feature; None if it has an unknown form."""
        try:
            return logical_type(read(feature, 0))
        except (_UnknownError, pa.ArrowException, ValueError, OverflowError):
            return None

    def yaml(self, feature: object, depth: int) -> pa.DataType:
        """Read the form of cards."""
        depth = self._deeper(depth)
        if isinstance(feature, str):
            return _value_type(feature)
        if isinstance(feature, list):
            return pa.struct(self._named(feature, depth))
        if not isinstance(feature, dict):
            raise _UnknownError
        for key in _LISTS:
            if key in feature:
                return self._yaml_list(key, feature[key], depth)
        if "struct" in feature:
            return self.yaml(feature["struct"], depth)
        kind = feature.get("dtype")
        if isinstance(kind, dict) and "class_label" in kind:
            return pa.int64()
        return self.yaml(kind, depth)

    def json(self, feature: object, depth: int) -> pa.DataType:
        """Read the form of footers."""
        depth = self._deeper(depth)
        if isinstance(feature, list) and len(feature) == 1:
            return pa.list_(self.json(feature[0], depth))
        if not isinstance(feature, dict):
            raise _UnknownError
        kind = feature.get("_type")
        if not isinstance(kind, str):
            return pa.struct([(name, self.json(member, depth)) for name, member in feature.items()])
        if kind == "Value":
            return _value_type(feature.get("dtype"))
        if kind == "ClassLabel":
            return pa.int64()
        if kind not in _JSON_LISTS:
            raise _UnknownError
        inner = self.json(feature.get("feature"), depth)
        return _lists_within(inner) if kind == "Sequence" and pa.types.is_struct(inner) else pa.list_(inner)

    def _yaml_list(self, key: str, feature: object, depth: int) -> pa.DataType:
        inner = self.yaml(feature, depth)
        return _lists_within(inner) if key == "sequence" and isinstance(feature, list) else pa.list_(inner)

    def _named(self, members: list[Any], depth: int) -> list[tuple[str, pa.DataType]]:
        if not all(isinstance(each, dict) and isinstance(each.get("name"), str) for each in members):
            raise _UnknownError
        return [(each["name"], self.yaml(each, depth)) for each in members]

    def _deeper(self, depth: int) -> int:
        self._nodes += 1
        if depth > _DEEPEST or self._nodes > _MOST_NODES:
            raise _UnknownError
        return depth + 1


def _lists_within(kind: pa.DataType) -> pa.DataType:
    """Turn a struct into one of lists: what datasets made of a sequence of structs."""
    return pa.struct([(field.name, pa.list_(field.type)) for field in kind])


def _value_type(name: object) -> pa.DataType:
    if not isinstance(name, str):
        raise _UnknownError
    if found := _TIMESTAMP.fullmatch(name):
        return pa.timestamp(found[1], found[2])
    if found := _DECIMAL.fullmatch(name):
        make = pa.decimal128 if found[1] == "128" else pa.decimal256
        return make(int(found[2]), int(found[3]))
    return pa.type_for_alias(name)
