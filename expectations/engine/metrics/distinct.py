"""Metrics of the distinct values of a column: they are counted batch by batch, and held while they are few."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pandas as pd
import polars as pl
from great_expectations.constants import MAX_DISTINCT_VALUES

from rollmill.expectations.engine.metrics import values
from rollmill.expectations.engine.metrics.narrow import Narrow
from rollmill.expectations.engine.metrics.scope import Scope

Options = Mapping[str, Any]
OfCounts = Callable[[pl.DataFrame, pl.DataType, Options], Any]
Derive = Callable[[Narrow], Any]


def _others(counts: pl.DataFrame, kind: pl.DataType, options: Options) -> list[Any]:
    """Give the values outside of a set."""
    expected = values.among(pl.col("value"), options.get("value_set") or [], kind)
    return counts.filter(~expected)["value"].to_list()


def _lacking(counts: pl.DataFrame, kind: pl.DataType, options: Options) -> list[Any]:
    """Give the members of a set that no value equals."""
    wanted = options.get("value_set") or []
    found = set(counts.filter(values.among(pl.col("value"), wanted, kind))["value"])
    return [value for value in dict.fromkeys(wanted) if values.equal_to(value, kind) not in found]


def _most_common(counts: pl.DataFrame, *_: object) -> list[Any]:
    return counts.filter(pl.col("count") == pl.col("count").max())["value"].to_list()


def _as_pandas(counts: pl.DataFrame, *_: object) -> pd.Series[int]:
    """Give the counts in the form that Great Expectations reckons with."""
    index = pd.Index(counts["value"].to_list(), name="value")
    return pd.Series(counts["count"].to_list(), index=index, name="count", dtype="int64")


def _first(found: OfCounts) -> OfCounts:
    return lambda counts, kind, options: found(counts, kind, options)[: options.get("limit") or MAX_DISTINCT_VALUES]


def _number(found: OfCounts) -> OfCounts:
    return lambda counts, kind, options: len(found(counts, kind, options))


DISTINCT: Final[dict[str, OfCounts]] = {
    "column.distinct_values.not_in_set": _first(_others),
    "column.distinct_values.not_in_set.count": _number(_others),
    "column.distinct_values.missing_from_column": _first(_lacking),
    "column.distinct_values.missing_from_column.count": _number(_lacking),
    "column.most_common_value": _most_common,
    "column.value_counts": _as_pandas,
}


def distinct(name: str, scope: Scope, column: str, options: Options) -> Derive:
    """Serve a metric of distinct values."""
    tally, kind, derive = scope.tally(column), scope.kind(column), DISTINCT[name]
    return lambda narrow: derive(narrow.tally(tally).sort("value"), kind, options)
