"""Map metrics whose answer for a record depends on others: judged on the values of the whole stream."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import polars as pl

from rollmill.expectations.engine.metrics.narrow import UnservedError

OfValues = Callable[[pl.Series, Mapping[str, Any]], pl.Series]


def _falls(values: pl.Series, options: Mapping[str, Any]) -> pl.Series:
    before = values.shift(1)
    return (values <= before if options.get("strictly") else values < before).fill_null(value=False)


def _rises(values: pl.Series, options: Mapping[str, Any]) -> pl.Series:
    before = values.shift(1)
    return (values >= before if options.get("strictly") else values > before).fill_null(value=False)


def _far(values: pl.Series, options: Mapping[str, Any]) -> pl.Series:
    """Give where a z-score reaches the threshold. Without a spread nothing is far."""
    mean, spread = _number(values.mean()), _number(values.std())
    if mean is None or not spread:
        return _nowhere(values)
    scores = (values - mean) / spread
    limit = float(options["threshold"])
    return scores.abs() >= abs(limit) if options.get("double_sided", True) else scores >= limit


def _outlying(values: pl.Series, options: Mapping[str, Any]) -> pl.Series:
    """Give what is beyond Tukey's fences (iqr), or `multiplier` standard deviations or more from the mean (std)."""
    method, multiplier = options.get("method", "iqr"), float(options.get("multiplier", 1.5))
    if method == "iqr":
        low, high = (_number(values.quantile(share, "linear")) for share in (0.25, 0.75))
        if low is None or high is None:
            return _nowhere(values)
        reach = multiplier * (high - low)
        return (values < low - reach) | (values > high + reach)
    if method != "std":
        raise UnservedError(f"method is iqr or std, not {method!r}.")
    mean, spread = _number(values.mean()), _number(values.std())
    if mean is None or spread is None:
        return _nowhere(values)
    return (values - mean).abs() >= multiplier * spread if multiplier * spread > 0 else values != mean


def _number(statistic: Any) -> float | None:
    return float(statistic) if statistic is not None and math.isfinite(statistic) else None


def _nowhere(values: pl.Series) -> pl.Series:
    return pl.repeat(value=False, n=len(values), dtype=pl.Boolean, eager=True)


ORDERS: Final[dict[str, OfValues]] = {"column_values.increasing": _falls, "column_values.decreasing": _rises}
"""Metrics of neighbours: true where a value breaks the order."""

DISTANCES: Final[dict[str, OfValues]] = {
    "column_values.z_score.under_threshold": _far,
    "column_values.not_outliers": _outlying,
}
"""Metrics of numbers against statistics of all: true where a value is too far off."""
