"""Per aggregate metric of Great Expectations: the narrow column it needs, and how it follows from that column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import polars as pl

_Interpolation = Literal["linear", "lower", "higher", "midpoint", "nearest"]
Derive = Callable[[pl.Series, Mapping[str, Any]], Any]


def _quantiles(values: pl.Series, options: Mapping[str, Any]) -> list[float | None]:
    wanted: _Interpolation = options.get("allow_relative_error") or "nearest"
    ordered = values.sort()
    return [_quantile(ordered, float(share), wanted) for share in options["quantiles"]]


def _quantile(ordered: pl.Series, share: float, how: _Interpolation) -> float | None:
    if how != "nearest":
        return ordered.quantile(share, how)
    return ordered[round(share * (len(ordered) - 1))] if len(ordered) else None  # halves to even, as pandas does


def _unique_share(values: pl.Series, _: Mapping[str, Any]) -> float:
    return values.n_unique() / len(values) if len(values) else 0.0


OF_VALUES: Final[dict[str, Derive]] = {
    "column.min": lambda values, _: values.min(),
    "column.max": lambda values, _: values.max(),
    "column.mean": lambda values, _: values.mean(),
    "column.sum": lambda values, _: values.sum(),
    "column.standard_deviation": lambda values, _: values.std(),
    "column.median": lambda values, _: values.median(),
    "column.quantile_values": _quantiles,
}
"""Metrics of the values themselves, without the missing ones: fixed-width types only."""

OF_LENGTHS: Final[dict[str, Derive]] = {
    "column_values.value_length.min": lambda values, _: values.min(),
    "column_values.value_length.max": lambda values, _: values.max(),
}
"""Metrics of the lengths of texts, in characters."""

OF_KEYS: Final[dict[str, Derive]] = {
    "column.distinct_values.count": lambda values, _: values.n_unique(),
    "column.unique_proportion": _unique_share,
}
"""Metrics of the 8-byte hashes of the values, without the missing ones."""

OF_TABLE: Final = ("table.row_count", "table.columns", "table.column_count", "table.column_types")
AGGREGATES: Final = (*OF_VALUES, *OF_LENGTHS, *OF_KEYS, *OF_TABLE)
