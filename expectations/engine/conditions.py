"""Per map metric of Great Expectations: the Polars expression that is true where a value is bad."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import polars as pl

from rollmill.expectations.engine.narrow import UnservedError

Options = Mapping[str, Any]
BadValue = Callable[[pl.Expr, Options], pl.Expr]


def plain(column: str, kind: pl.DataType) -> pl.Expr:
    """Give a column, categories as the text they stand for: their codes differ from batch to batch."""
    values = pl.col(column)
    return values.cast(pl.String) if kind in (pl.Categorical, pl.Enum) else values


def comparable(column: str, kind: pl.DataType, *, nan_is_null: bool) -> pl.Expr:
    """Give a column's values with NaN as null, if that is what it is taken for."""
    values = plain(column, kind)
    return values.fill_nan(None) if nan_is_null and kind.is_float() else values


def missing(column: str, kind: pl.DataType, *, nan_is_null: bool) -> pl.Expr:
    """Give where a value is missing; in the eyes of pandas NaN is."""
    values = pl.col(column)
    return (
        values.is_null() | values.is_nan().fill_null(value=False)
        if nan_is_null and kind.is_float()
        else values.is_null()
    )


def not_finite(column: str, kind: pl.DataType) -> pl.Expr:
    """Give where a number is NaN or infinite, or a text (quoted or not) stands for such a number."""
    values = plain(column, kind)
    if kind in (pl.String, pl.Categorical, pl.Enum):
        values = values.str.strip_chars(' \t\r\n"').cast(pl.Float64, strict=False)
    elif not kind.is_numeric():
        raise UnservedError(f"Column {column!r} is {kind}, neither number nor text: it can't be checked for NaN.")
    return (~values.is_finite()).fill_null(value=False)


def _outside(values: pl.Expr, options: Options) -> pl.Expr:
    low, high = options.get("min_value"), options.get("max_value")
    if low is None and high is None:
        raise UnservedError("min_value and max_value can't both be absent.")
    bad = []
    if low is not None:
        bad.append(values <= low if options.get("strict_min") else values < low)
    if high is not None:
        bad.append(values >= high if options.get("strict_max") else values > high)
    return pl.any_horizontal(bad)


BETWEEN: Final = "column_values.between"
BAD_VALUES: Final[dict[str, BadValue]] = {
    BETWEEN: _outside,
    "column_values.value_length.between": lambda values, options: _outside(values.str.len_chars(), options),
    "column_values.value_length.equals": lambda values, options: values.str.len_chars() != options["value"],
    "column_values.in_set": lambda values, options: ~values.is_in(list(options["value_set"])),
    "column_values.not_in_set": lambda values, options: values.is_in(list(options["value_set"])),
    "column_values.match_regex": lambda values, options: ~values.str.contains(options["regex"]),
    "column_values.not_match_regex": lambda values, options: values.str.contains(options["regex"]),
}
NULLITY: Final = ("column_values.nonnull", "column_values.null")
FINITE: Final = "column_values.finite"
UNIQUE: Final = ("column_values.unique", "compound_columns.unique")
MAP_METRICS: Final = (*BAD_VALUES, *NULLITY, FINITE, *UNIQUE)


def bad_rows(metric: str, column: str, kind: pl.DataType, options: Options, *, nan_is_null: bool) -> pl.Expr:
    """Give where a record is bad under a map metric over one column. Missing ones are bad only if asked for."""
    absent = missing(column, kind, nan_is_null=nan_is_null)
    if metric == "column_values.nonnull":
        return absent
    if metric == "column_values.null":
        return ~absent
    if metric == FINITE:
        return not_finite(column, kind)
    values = plain(column, kind)
    bad = BAD_VALUES[metric](values, options).fill_null(value=False)
    if metric == BETWEEN and kind.is_float():
        bad = bad | values.is_nan().fill_null(value=False)  # Polars takes NaN for the largest number
    return ~absent & bad


def key_hash(columns: Mapping[str, pl.DataType], *, nan_is_null: bool) -> pl.Expr:
    """Give 8 bytes per record that are equal where the columns are. Unequal keys share them once in 2^64 pairs."""
    hashes = [comparable(column, kind, nan_is_null=nan_is_null).hash(11) for column, kind in columns.items()]
    return hashes[0] if len(hashes) == 1 else pl.struct(h.alias(str(i)) for i, h in enumerate(hashes)).hash(13)
