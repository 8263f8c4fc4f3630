"""The column types of JSON records, over a whole file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from rollmill.formats.json_values import json_text
from rollmill.formats.records import JSON_TEXT_KEY

MAX_COLUMNS = 10_000
"""More keys than this are no columns: the keys of such a file are data."""

_EXACT = 1 << 53
_INT64 = 1 << 63
_NUMBERS = {int, float}
_TYPES: dict[type, pa.DataType] = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}


class ColumnKinds:
    """What kinds of values one key has been seen with."""

    __slots__ = ("exact_floats", "fits_int64", "kinds")

    def __init__(self) -> None:
        self.kinds: set[type] = set()
        self.fits_int64 = True
        self.exact_floats = True

    def note_large(self, value: int) -> None:
        """Take note of an integer beyond 2**53."""
        self.fits_int64 = self.fits_int64 and -_INT64 <= value < _INT64
        self.exact_floats = self.exact_floats and _is_float(value)

    def field(self, name: str) -> pa.Field[Any]:
        """Give the column's field: one scalar type if that holds all values exactly, else JSON text."""
        kinds = self.kinds - {type(None)}
        if not kinds:
            return pa.field(name, pa.null())
        if kinds == _NUMBERS and self.exact_floats:
            return pa.field(name, pa.float64())
        if len(kinds) == 1 and (kinds != {int} or self.fits_int64):
            found = _TYPES.get(next(iter(kinds)))
            if found is not None:
                return pa.field(name, found)
        return pa.field(name, pa.string(), metadata={JSON_TEXT_KEY: b"1"})


class SchemaScan:
    """Finds the schema of JSON objects; columns stand in the order of first appearance."""

    def __init__(self) -> None:
        self._columns: dict[str, ColumnKinds] = {}

    def add(self, row: dict[str, Any]) -> None:
        """Take note of one record."""
        columns = self._columns
        for key, value in row.items():
            column = columns.get(key)
            if column is None:
                column = columns[key] = ColumnKinds()
            kind = type(value)
            column.kinds.add(kind)
            if kind is int and not -_EXACT <= value <= _EXACT:
                column.note_large(value)

    @property
    def width(self) -> int:
        """How many columns there are so far."""
        return len(self._columns)

    def schema(self) -> pa.Schema:
        """Give the schema of all records added."""
        return pa.schema([column.field(name) for name, column in self._columns.items()])


def cell_of(field: pa.Field[Any]) -> Callable[[Any], Any] | None:
    """Give what turns a parsed value (not null) into a cell of the column; None when the value is the cell."""
    if field.metadata and JSON_TEXT_KEY in field.metadata:
        return json_text
    return float if pa.types.is_float64(field.type) else None


def _is_float(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False
