"""How a column is read: its values as they compare, where they are missing, and constants that compare with them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any, Final
from zoneinfo import ZoneInfo

import polars as pl
from dateutil.parser import parse

from rollmill.expectations.engine.metrics.narrow import UnservedError

_DICTIONARIES: Final = (pl.Categorical, pl.Enum)
_WIDE: Final = (pl.Decimal, pl.Int128, pl.UInt128)


def is_text(kind: pl.DataType) -> bool:
    """Say whether a column's values read as text. One without any value does: it may be read as anything."""
    return kind in (pl.String, pl.Null, *_DICTIONARIES)


def is_fixed(kind: pl.DataType) -> bool:
    """Say whether a value takes at most 8 bytes: numbers, booleans, dates and times, not decimals."""
    return not (kind.is_nested() or kind in (pl.String, pl.Binary, pl.Object, *_DICTIONARIES, *_WIDE))


def plain(column: str, kind: pl.DataType) -> pl.Expr:
    """Give a column, categories as the text they stand for: their codes differ from batch to batch."""
    values = pl.col(column)
    return values.cast(pl.String) if kind in _DICTIONARIES else values


def narrowed(column: str, kind: pl.DataType) -> pl.Expr | None:
    """Give a column at 8 bytes a value, decimals and 128-bit integers as floats; None if its values have no size."""
    if kind in _WIDE:
        return pl.col(column).cast(pl.Float64)
    return pl.col(column) if is_fixed(kind) else None


def comparable(column: str, kind: pl.DataType, *, nan_is_null: bool) -> pl.Expr:
    """Give a column's values with NaN as null, if that is what it is taken for."""
    values = plain(column, kind)
    return values.fill_nan(None) if nan_is_null and kind.is_float() else values


def missing(column: str, kind: pl.DataType, *, nan_is_null: bool) -> pl.Expr:
    """Give where a value is missing; in the eyes of pandas NaN is."""
    values = pl.col(column)
    if nan_is_null and kind.is_float():
        return values.is_null() | values.is_nan().fill_null(value=False)
    return values.is_null()


def constant(value: Any, kind: pl.DataType) -> Any:
    """Give a constant as a value of a column's type: text as the date or time it stands for, in the column's zone.

    A value of another type is given as it is.
    """
    if isinstance(kind, pl.Datetime):
        value = _moment(value)
        zone = kind.time_zone
        naive = isinstance(value, dt.datetime) and value.tzinfo is None
        return value.replace(tzinfo=ZoneInfo(zone)) if zone and naive else value
    if kind == pl.Date:
        value = _moment(value)
        return value.date() if isinstance(value, dt.datetime) else value
    return value


def _moment(value: Any) -> Any:
    if isinstance(value, str):
        return parse(value)
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return dt.datetime.combine(value, dt.time())
    return value


def equal_to(value: Any, kind: pl.DataType) -> Any:
    """Give the value of a column's type that equals a constant; None if there is none, as for text among numbers."""
    number = isinstance(value, int | float)
    if kind.is_float():
        return float(value) if number else None
    if kind.is_integer() or kind == pl.Boolean:
        return _whole(value, kind) if number and value == value // 1 else None
    if is_text(kind):
        return value if isinstance(value, str) else None
    return constant(value, kind)


def _whole(value: float, kind: pl.DataType) -> int | bool | None:
    if kind == pl.Boolean:
        return bool(value) if value in {0, 1} else None
    found = pl.Series([int(value)], dtype=pl.Int128).cast(kind, strict=False).item()
    return None if found is None else int(found)


def among(values: pl.Expr, constants: Iterable[Any], kind: pl.DataType) -> pl.Expr:
    """Give where a value equals one of the constants."""
    kind = pl.String() if is_text(kind) else kind
    equals = [found for found in (equal_to(value, kind) for value in constants) if found is not None]
    try:
        known = pl.Series([equals], dtype=pl.List(kind))
    except (TypeError, pl.exceptions.PolarsError):
        raise UnservedError(f"Values of type {kind} can't be compared with {', '.join(map(repr, equals))}.") from None
    return values.is_in(pl.lit(known))
