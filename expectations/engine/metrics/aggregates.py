"""Per aggregate metric of Great Expectations: what it needs of each record, and how it follows from that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import numpy as np
import polars as pl

from rollmill.expectations.engine.metrics.narrow import Narrow, UnservedError
from rollmill.expectations.engine.metrics.scope import Scope

_Interpolation = Literal["linear", "lower", "higher", "midpoint", "nearest"]
Options = Mapping[str, Any]
Derive = Callable[[Narrow], Any]
OfSeries = Callable[[pl.Series, Options], Any]
Serve = Callable[[Scope, str, Options], Derive]


def _quantiles(found: pl.Series, options: Options) -> list[float | None]:
    wanted: _Interpolation = options.get("allow_relative_error") or "nearest"
    ordered = found.sort()
    return [_quantile(ordered, float(share), wanted) for share in options["quantiles"]]


def _quantile(ordered: pl.Series, share: float, how: _Interpolation) -> float | None:
    if how != "nearest":
        return ordered.quantile(share, how)
    return ordered[round(share * (len(ordered) - 1))] if len(ordered) else None  # halves to even, as pandas does


def _histogram(found: pl.Series, options: Options) -> list[int]:
    counts, _ = np.histogram(found.to_numpy(), options["bins"])
    return [int(count) for count in counts]


def _count_between(found: pl.Series, options: Options) -> int:
    from rollmill.expectations.engine.metrics.conditions import within

    return int(found.to_frame("value").select(within(pl.col("value"), found.dtype, options)).to_series().sum())


def _of_values(derive: OfSeries) -> Serve:
    def serve(scope: Scope, column: str, options: Options) -> Derive:
        value, present = scope.fixed(column)
        return lambda narrow: derive(_numbers(narrow.among(value, present)), options)

    return serve


def _numbers(found: pl.Series) -> pl.Series:
    return found.cast(pl.UInt8) if found.dtype == pl.Boolean else found


def _distinct_count(scope: Scope, column: str, _: Options) -> Derive:
    (key, _exact), present = scope.key((column,)), scope.present(column)
    return lambda narrow: narrow.among(key, present).n_unique()


def _unique_share(scope: Scope, column: str, _: Options) -> Derive:
    (key, _exact), present = scope.key((column,)), scope.present(column)

    def derive(narrow: Narrow) -> float:
        keys = narrow.among(key, present)
        return keys.n_unique() / len(keys) if len(keys) else 0.0

    return derive


def _present_count(scope: Scope, column: str, _: Options) -> Derive:
    present = scope.present(column)
    return lambda narrow: int(narrow.column(present).sum())


def _present_share(scope: Scope, column: str, _: Options) -> Derive:
    present, rows = scope.present(column), row_count(scope)

    def derive(narrow: Narrow) -> float:
        total = rows(narrow)
        return int(narrow.column(present).sum()) / total if total else 0.0

    return derive


def row_count(scope: Scope) -> Derive:
    """Count the records under the row condition."""
    scope.projection.rows_needed = True
    if scope.chosen is None:
        return lambda narrow: narrow.rows
    chosen = scope.add("rows", scope.chosen)
    return lambda narrow: int(narrow.column(chosen).sum())


def _once_more(*_: object) -> Derive:
    raise UnservedError(
        "The Polars engine does not serve bins made from the data, in a pass of their own: give a partition_object."
    )


AGGREGATES: Final[dict[str, Serve]] = {
    "column.min": _of_values(lambda found, _: found.min()),
    "column.max": _of_values(lambda found, _: found.max()),
    "column.mean": _of_values(lambda found, _: found.mean()),
    "column.sum": _of_values(lambda found, _: found.sum()),
    "column.standard_deviation": _of_values(lambda found, _: found.std()),
    "column.median": _of_values(lambda found, _: found.median()),
    "column.quantile_values": _of_values(_quantiles),
    "column.histogram": _of_values(_histogram),
    "column.partition": _once_more,
    "column_values.between.count": _of_values(_count_between),
    "column.distinct_values.count": _distinct_count,
    "column.unique_proportion": _unique_share,
    "column.non_null_count": _present_count,
    "column.non_null_proportion": _present_share,
    "column_values.nonnull.count": _present_count,
}
"""Metrics of one column. Values are those that are there and not NaN."""
