"""Row-level metrics: which records are looked at, which of them fail, and which of their values are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

import polars as pl

from rollmill.expectations.engine.metrics import conditions, orders
from rollmill.expectations.engine.metrics.narrow import SAMPLE_ROWS, Narrow, Sample, UnservedError
from rollmill.expectations.engine.metrics.scope import Scope

Options = Mapping[str, Any]
Derive = Callable[[Narrow], Any]

UNIQUE: Final = ("column_values.unique", "compound_columns.unique")
MAP_METRICS: Final = (
    *conditions.OF_COLUMN,
    conditions.NULL,
    conditions.NONNULL,
    *conditions.OF_COLUMNS,
    *orders.ORDERS,
    *orders.DISTANCES,
    *UNIQUE,
)


@dataclass(frozen=True, slots=True)
class Rows:
    """How the failing records follow from a pass.

    `mask` is the narrow column that is true for them, None if they show only at the end; `values` is the narrow column
    then that holds their values themselves, None if there is none.
    """

    bad: Callable[[Narrow], pl.Series]
    mask: str | None = None
    values: str | None = None


def columns_of(domain: Mapping[str, Any]) -> tuple[str, ...]:
    """Give the columns that a metric is about."""
    if "column_list" in domain:
        return tuple(domain["column_list"])
    if "column_A" in domain:
        return domain["column_A"], domain["column_B"]
    return (domain["column"],)


def considered(scope: Scope, metric: str, domain: Mapping[str, Any]) -> pl.Expr:
    """Give the records that are looked at: under the row condition, and not ignored for what they lack."""
    if metric == conditions.FINITE:
        scope = Scope(scope.projection, scope.chosen, nan_is_null=False)
    absent = [scope.missing(column) for column in columns_of(domain)]
    match domain.get("ignore_row_if"):
        case None | "all_values_are_missing" | "both_values_are_missing":
            looked_at = ~pl.all_horizontal(absent)
        case "any_value_is_missing" | "either_value_is_missing":
            looked_at = ~pl.any_horizontal(absent)
        case "never" | "neither":
            looked_at = absent[0] | ~absent[0]
        case other:
            raise UnservedError(f"ignore_row_if={other!r} is not known.")
    return scope.within(looked_at)


def failing(scope: Scope, metric: str, domain: Mapping[str, Any], options: Options) -> Rows:
    """Ask for the records that fail a metric."""
    columns = columns_of(domain)
    if metric in UNIQUE:
        return _repeated(scope, columns, scope.add("considered", considered(scope, metric, domain)))
    if metric in orders.ORDERS or metric in orders.DISTANCES:
        return _over_all(scope, metric, columns[0], options)
    if metric in {conditions.NULL, conditions.NONNULL}:
        absent = scope.missing(columns[0])
        bad = scope.within(absent if metric == conditions.NONNULL else ~absent)
    else:
        good = _good(scope, metric, columns, options)
        bad = considered(scope, metric, domain) & ~good.fill_null(value=False)
    mask = scope.add("bad", bad)
    return Rows(lambda narrow: narrow.column(mask), mask=mask)


def _good(scope: Scope, metric: str, columns: tuple[str, ...], options: Options) -> pl.Expr:
    if metric in conditions.OF_COLUMNS:
        return conditions.OF_COLUMNS[metric](scope, columns, options)
    return conditions.OF_COLUMN[metric](scope, columns[0], options)


def _repeated(scope: Scope, columns: tuple[str, ...], among: str) -> Rows:
    key, exact = scope.key(columns)

    def bad(narrow: Narrow) -> pl.Series:
        return narrow.once(f"{key}/{among}", lambda: narrow.spread(narrow.among(key, among).is_duplicated(), among))

    return Rows(bad, values=key if exact else None)


def _over_all(scope: Scope, metric: str, column: str, options: Options) -> Rows:
    judge = (orders.ORDERS | orders.DISTANCES)[metric]
    if metric in orders.DISTANCES and not scope.kind(column).is_numeric():
        raise UnservedError(f"Column {column!r} is {scope.kind(column)}, not a number.")
    value, present = scope.fixed(column)
    name = f"{metric}/{value}/{present}/{sorted(options.items(), key=str)}"

    def bad(narrow: Narrow) -> pl.Series:
        return narrow.once(name, lambda: narrow.spread(judge(narrow.among(value, present), options), present))

    return Rows(bad, values=value)


class Answer:
    """The metrics that Great Expectations derives from failing records, by the end of their names."""

    def __init__(self, scope: Scope, domain: Mapping[str, Any], rows: Rows, options: Options) -> None:
        wanted = options.get("result_format") or {}
        self._scope, self._columns, self._rows = scope, columns_of(domain), rows
        self._pair = "column_A" in domain
        self._complete = wanted.get("result_format") == "COMPLETE"
        self._limit = SAMPLE_ROWS if self._complete else wanted.get("partial_unexpected_count", 20)
        self._keys = tuple(wanted.get("unexpected_index_column_names") or ())
        self._quiet = bool(wanted.get("exclude_unexpected_values"))

    def count(self) -> Derive:
        """Count them."""
        return lambda narrow: int(self._rows.bad(narrow).sum())

    def positions(self) -> Derive:
        """Give where they are, or under which keys: members of the columns named in the result format."""
        if self._keys:
            kept = self._sample((*dict.fromkeys((*self._columns, *self._keys)),))
            return lambda narrow: narrow.samples[kept][: self._limit]
        limit = None if self._complete else self._limit
        return lambda narrow: self._rows.bad(narrow).arg_true()[:limit].to_list()

    def records(self) -> Derive:
        """Give the first of them whole."""
        kept = self._sample(tuple(self._scope.projection.schema))
        return lambda narrow: narrow.samples[kept][: self._limit]

    def values(self) -> Derive:
        """Give the values of the first of them: one each, a pair, or a mapping by column."""
        column, names = self._rows.values, self._columns
        if self._quiet or (self._rows.mask is None and column is None):
            return lambda _: []
        if column is not None:
            return lambda narrow: narrow.column(column).filter(self._rows.bad(narrow))[: self._limit].to_list()
        kept = self._sample(names)
        if self._pair or len(names) == 1:
            shaped = itemgetter(*names)
            return lambda narrow: [shaped(row) for row in narrow.samples[kept][: self._limit]]
        return lambda narrow: narrow.samples[kept][: self._limit]

    def _sample(self, columns: tuple[str, ...]) -> Sample:
        if self._rows.mask is None:
            raise UnservedError(
                "Which records fail shows at the end of the pass only: their positions can be given, not their columns."
            )
        return self._scope.projection.keep_sample(self._rows.mask, columns, self._limit)
