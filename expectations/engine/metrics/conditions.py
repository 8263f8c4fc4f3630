"""Per map metric of Great Expectations: the Polars expression that is true where a record meets it.

Records without a value, and what is null for another reason, are the compiler's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

import polars as pl

from rollmill.expectations.engine.metrics import ending, texts, values
from rollmill.expectations.engine.metrics.narrow import UnservedError
from rollmill.expectations.engine.metrics.scope import Scope

Options = Mapping[str, Any]
OfColumn = Callable[[Scope, str, Options], pl.Expr]
OfColumns = Callable[[Scope, Sequence[str], Options], pl.Expr]


def within(read: pl.Expr, kind: pl.DataType, options: Options) -> pl.Expr:
    """Give where values are between `min_value` and `max_value`. NaN is nowhere: Polars takes it for the largest."""
    low, high = (values.constant(options.get(name), kind) for name in ("min_value", "max_value"))
    if low is None and high is None:
        raise UnservedError("min_value and max_value can't both be absent.")
    if low is not None and high is not None and low > high:
        raise UnservedError("min_value can't be greater than max_value.")
    good = []
    if low is not None:
        good.append(read > low if options.get("strict_min") else read >= low)
    if high is not None:
        good.append(read < high if options.get("strict_max") else read <= high)
    return pl.all_horizontal([*good, read.is_not_nan()] if kind.is_float() else good)


def _between(scope: Scope, column: str, options: Options) -> pl.Expr:
    return within(scope.plain(column), scope.kind(column), options)


def _in_set(scope: Scope, column: str, options: Options) -> pl.Expr:
    if options["value_set"] is None:
        return pl.lit(value=True)
    return values.among(scope.plain(column), options["value_set"], scope.kind(column))


def _not_in_set(scope: Scope, column: str, options: Options) -> pl.Expr:
    return pl.lit(value=True) if options["value_set"] is None else ~_in_set(scope, column, options)


def _length_within(scope: Scope, column: str, options: Options) -> pl.Expr:
    return within(scope.text(column).str.len_chars(), pl.UInt32(), options)


def _regexes(scope: Scope, column: str, options: Options) -> pl.Expr:
    return texts.matches(scope.text(column), options["regex_list"], options.get("match_on") or "any")


def _likes(scope: Scope, column: str, options: Options) -> pl.Expr:
    regexes = [texts.like(pattern, options.get("escape")) for pattern in options["like_pattern_list"]]
    return texts.matches(scope.text(column), regexes, options.get("match_on") or "any")


def _like(scope: Scope, column: str, options: Options) -> pl.Expr:
    return texts.contains(scope.text(column), texts.like(options["like_pattern"], options.get("escape")))


def _strftime(scope: Scope, column: str, options: Options) -> pl.Expr:
    form = options["strftime_format"]
    return texts.decided(scope.text(column), lambda value: texts.has_format(value, form))


def finite(scope: Scope, column: str, _: Options) -> pl.Expr:
    """Give where a number is neither NaN nor infinite, nor a text (quoted or not) that stands for such a number."""
    kind = scope.kind(column)
    read = scope.plain(column)
    if values.is_text(kind) and kind != pl.Null:
        read = read.str.strip_chars(' \t\r\n"').cast(pl.Float64, strict=False)
    elif not kind.is_numeric():
        raise UnservedError(f"Column {column!r} is {kind}, neither number nor text: it can't be checked for NaN.")
    return read.is_finite().fill_null(value=True)


NULL: Final = "column_values.null"
NONNULL: Final = "column_values.nonnull"
FINITE: Final = "column_values.finite"
END_NUMBER: Final = "column_pair_values.a_ends_in_number_b"

OF_COLUMN: Final[dict[str, OfColumn]] = {
    "column_values.between": _between,
    "column_values.value_length.between": _length_within,
    "column_values.value_length.equals": lambda s, column, o: s.text(column).str.len_chars() == o["value"],
    "column_values.in_set": _in_set,
    "column_values.not_in_set": _not_in_set,
    "column_values.match_regex": lambda s, column, o: texts.contains(s.text(column), o["regex"]),
    "column_values.not_match_regex": lambda s, column, o: ~texts.contains(s.text(column), o["regex"]),
    "column_values.match_regex_list": _regexes,
    "column_values.not_match_regex_list": lambda s, column, o: ~_regexes(s, column, {**o, "match_on": "any"}),
    "column_values.match_like_pattern": _like,
    "column_values.not_match_like_pattern": lambda s, column, o: ~_like(s, column, o),
    "column_values.match_like_pattern_list": _likes,
    "column_values.not_match_like_pattern_list": lambda s, column, o: ~_likes(s, column, {**o, "match_on": "any"}),
    "column_values.match_strftime_format": _strftime,
    "column_values.dateutil_parseable": lambda s, column, _: texts.decided(s.text(column), texts.is_date),
    "column_values.json_parseable": lambda s, column, _: texts.decided(s.text(column), texts.is_json),
    "column_values.match_json_schema": lambda s, column, o: texts.decided(
        s.text(column), texts.json_fits(o["json_schema"])
    ),
    FINITE: finite,
}
"""Metrics of one column, over its values."""


def _in_pairs(scope: Scope, columns: Sequence[str], options: Options) -> pl.Expr:
    if options["value_pairs_set"] is None:
        return pl.lit(value=True)
    pairs = [[_is(scope, *at) for at in zip(columns, pair, strict=True)] for pair in options["value_pairs_set"]]
    return pl.any_horizontal(pl.lit(value=False), *map(pl.all_horizontal, pairs))


def _is(scope: Scope, column: str, constant: Any) -> pl.Expr:
    if constant is None:
        return scope.missing(column)
    return values.among(scope.compared(column), [constant], scope.kind(column)).fill_null(value=False)


def _greater(scope: Scope, columns: Sequence[str], options: Options) -> pl.Expr:
    a, b = map(scope.compared, columns)
    return a >= b if options.get("or_equal") else a > b


def _equal(scope: Scope, columns: Sequence[str], _: Options) -> pl.Expr:
    a, b = map(scope.compared, columns)
    return a == b


def _ends_in(scope: Scope, columns: Sequence[str], options: Options) -> pl.Expr:
    text, number = columns
    if not scope.kind(number).is_numeric():
        raise UnservedError(f"Column {number!r} is {scope.kind(number)}, not a number.")
    found, wanted = ending.last_number(scope.text(text)), scope.compared(number).cast(pl.Float64)
    close = (found - wanted).abs() <= (options.get("tolerance") or 0)
    return found.is_null() | close if options.get("no_number") == "pass" else close


def _all_equal(scope: Scope, columns: Sequence[str], _: Options) -> pl.Expr:
    first, *others = map(scope.matched, columns)
    return pl.all_horizontal(pl.lit(value=True), *(first.eq_missing(other) for other in others))


def _all_different(scope: Scope, columns: Sequence[str], _: Options) -> pl.Expr:
    return ~pl.any_horizontal(pl.lit(value=False), *(_same(scope, a, b) for a, b in combinations(columns, 2)))


def _same(scope: Scope, a: str, b: str) -> pl.Expr:
    """Give where two columns are equal, nulls included. A text equals no number, and no date."""
    kinds = scope.kind(a), scope.kind(b)
    if kinds[0] == kinds[1] or all(kind.is_numeric() for kind in kinds) or all(map(values.is_text, kinds)):
        return scope.matched(a).eq_missing(scope.matched(b))
    return scope.missing(a) & scope.missing(b)


def _sum(scope: Scope, columns: Sequence[str], options: Options) -> pl.Expr:
    return pl.sum_horizontal(map(scope.plain, columns), ignore_nulls=False).eq(options["sum_total"])


OF_COLUMNS: Final[dict[str, OfColumns]] = {
    "column_pair_values.equal": _equal,
    "column_pair_values.a_greater_than_b": _greater,
    "column_pair_values.in_set": _in_pairs,
    END_NUMBER: _ends_in,
    "multicolumn_values.equal": _all_equal,
    "multicolumn_sum.equal": _sum,
    "select_column_values.unique.within_record": _all_different,
}
"""Metrics of two columns or more, over the records that are not ignored."""
