"""A `row_condition` of Great Expectations as a Polars expression, with the answers of pandas for missing values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import polars as pl
from great_expectations.expectations.row_conditions import (
    AndCondition,
    ComparisonCondition,
    Condition,
    NullityCondition,
    Operator,
    OrCondition,
    deserialize_row_condition,
)

from rollmill.expectations.engine.metrics.narrow import UnservedError
from rollmill.expectations.engine.metrics.projection import Projection
from rollmill.expectations.engine.metrics.values import among, comparable, constant, missing

_COMPARE: Final[dict[Operator, Callable[[pl.Expr, Any], pl.Expr]]] = {
    Operator.EQUAL: lambda x, value: x == value,
    Operator.NOT_EQUAL: lambda x, value: x.ne_missing(pl.lit(value)),
    Operator.LESS_THAN: lambda x, value: x < value,
    Operator.LESS_THAN_OR_EQUAL: lambda x, value: x <= value,
    Operator.GREATER_THAN: lambda x, value: x > value,
    Operator.GREATER_THAN_OR_EQUAL: lambda x, value: x >= value,
}


def selected(condition: object, projection: Projection, *, nan_is_null: bool) -> pl.Expr:
    """Give where a record is selected. Raises UnservedError if a column is not there or the form is not known."""
    if not isinstance(condition, Condition):
        condition = deserialize_row_condition(condition)
    match condition:
        case AndCondition():
            parts = [selected(part, projection, nan_is_null=nan_is_null) for part in condition.conditions]
            return pl.all_horizontal(parts)
        case OrCondition():
            parts = [selected(part, projection, nan_is_null=nan_is_null) for part in condition.conditions]
            return pl.any_horizontal(parts)
        case NullityCondition():
            name = condition.column.name
            absent = missing(name, projection.require(name), nan_is_null=nan_is_null)
            return absent if condition.is_null else ~absent
        case ComparisonCondition():
            name = condition.column.name
            values = comparable(name, projection.require(name), nan_is_null=nan_is_null)
            return _compared(values, condition, projection.require(name)).fill_null(value=False)
    raise UnservedError(f"A row_condition of the form {type(condition).__name__} is not served.")


def _compared(values: pl.Expr, condition: ComparisonCondition, kind: pl.DataType) -> pl.Expr:
    match condition.operator:
        case Operator.IN:
            return among(values, condition.parameter, kind)
        case Operator.NOT_IN:
            return ~among(values, condition.parameter, kind).fill_null(value=False)
        case operator:
            return _COMPARE[operator](values, constant(condition.parameter, kind))
