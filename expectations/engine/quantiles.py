"""The stock expectation of quantiles, mended: its `success` is a numpy.bool, which no store of results can write."""

from __future__ import annotations

from typing import Any

from great_expectations.expectations.core import expect_column_quantile_values_to_be_between as stock


class ExpectColumnQuantileValuesToBeBetween(stock.ExpectColumnQuantileValuesToBeBetween):
    """Takes the place of the stock class of this name, on every engine: results are made by the type's name."""

    def _validate(self, metrics: dict[str, Any], *args: Any, **kwargs: Any) -> dict[str, Any]:
        found: dict[str, Any] = super()._validate(metrics, *args, **kwargs)
        return {**found, "success": bool(found["success"])}
