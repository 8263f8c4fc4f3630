"""All metrics of a suite as one projection, and how each follows from the narrow frame."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl
from great_expectations.validator.metric_configuration import MetricConfiguration, MetricConfigurationID

from rollmill.expectations.engine import aggregates, conditions
from rollmill.expectations.engine.narrow import Narrow, Projection, UnservedError
from rollmill.expectations.engine.row_conditions import selected

Derive = Callable[[Narrow], Any]
SUFFIXES: Final = (
    "unexpected_count",
    "unexpected_values",
    "unexpected_index_list",
    "unexpected_index_query",
    "filtered_row_count",
)


@dataclass(frozen=True, slots=True)
class Answers:
    """What a pass gave per metric: its value or why there is none; and for each `unexpected_count` the bad records."""

    values: dict[MetricConfigurationID, Any] = field(default_factory=dict)
    errors: dict[MetricConfigurationID, str] = field(default_factory=dict)
    masks: dict[MetricConfigurationID, pl.Series] = field(default_factory=dict)


class Plan:
    """The projection of a set of metrics (`project`, record by record) and their answers (`judge`, over the whole)."""

    def __init__(self, metrics: Iterable[MetricConfiguration], schema: pl.Schema, *, nan_is_null: bool) -> None:
        self.projection = Projection(schema)
        self._nan_is_null = nan_is_null
        self._derive: dict[MetricConfigurationID, Derive] = {}
        self._masks: dict[MetricConfigurationID, Derive] = {}
        self._errors: dict[MetricConfigurationID, str] = {}
        for metric in metrics:
            try:
                self._derive[metric.id] = self._compile(metric)
            except (UnservedError, TypeError, ValueError, KeyError) as error:  # arguments that make no expression
                self._errors[metric.id] = " ".join(str(error).split("\n\n")[0].split())

    def project(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Give the narrow columns of a batch."""
        return self.projection.project(batch)

    def judge(self, narrow: Narrow) -> Answers:
        """Derive every metric. One that fails does not hide the others."""
        answers = Answers(errors=dict(self._errors))
        for key, derive in self._derive.items():
            try:
                answers.values[key] = derive(narrow)
                if key in self._masks:
                    answers.masks[key] = self._masks[key](narrow)
            except (UnservedError, TypeError, pl.exceptions.PolarsError) as error:
                answers.errors[key] = str(error)
        return answers

    def _compile(self, metric: MetricConfiguration) -> Derive:
        name, domain, options = metric.metric_name, metric.metric_domain_kwargs, metric.metric_value_kwargs
        if domain.get("table"):
            raise UnservedError("The Polars engine knows one table, that of the stream.")
        chosen = self._selection(domain)
        if name in aggregates.OF_TABLE:
            return self._table(name, chosen)
        if name in aggregates.AGGREGATES:
            return self._aggregate(name, domain["column"], options, chosen)
        base, _, suffix = name.rpartition(".")
        if base not in conditions.MAP_METRICS or suffix not in SUFFIXES:
            raise UnservedError(f"The Polars engine does not serve the metric {name!r}.")
        columns = tuple(domain["column_list"]) if "column_list" in domain else (domain["column"],)
        for column in columns:
            self.projection.require(column)
        if suffix == "unexpected_index_query":
            return lambda _: None
        if suffix == "filtered_row_count":
            considered = self._considered(base, columns, domain, chosen)
            return lambda narrow: int(narrow.column(considered).sum())
        mask = self._mask(base, columns, domain, options, chosen)
        return self._of_mask(metric, suffix, columns, mask)

    def _selection(self, domain: Mapping[str, Any]) -> pl.Expr | None:
        condition = domain.get("row_condition")
        return None if condition is None else selected(condition, self.projection, nan_is_null=self._nan_is_null)

    def _table(self, name: str, chosen: pl.Expr | None) -> Derive:
        schema = self.projection.schema
        if name == "table.row_count":
            self.projection.rows_needed = True
            if chosen is None:
                return lambda narrow: narrow.rows
            mask = self._add("rows", chosen)
            return lambda narrow: int(narrow.column(mask).sum())
        answers = {
            "table.columns": list(schema),
            "table.column_count": len(schema),
            "table.column_types": [{"name": name, "type": str(kind)} for name, kind in schema.items()],
        }
        return lambda _: answers[name]

    def _aggregate(self, name: str, column: str, options: Mapping[str, Any], chosen: pl.Expr | None) -> Derive:
        kind = self.projection.require(column)
        present = ~conditions.missing(column, kind, nan_is_null=True)
        looked_at = self._add("present", present if chosen is None else present & chosen)
        if name in aggregates.OF_VALUES:
            if kind in (pl.String, pl.Binary, pl.Categorical, pl.Enum) or kind.is_nested():
                raise UnservedError(f"{name!r} needs a number, a boolean or a time, and column {column!r} is {kind}.")
            values, derive = self._add("value", pl.col(column)), aggregates.OF_VALUES[name]
        elif name in aggregates.OF_LENGTHS:
            lengths = conditions.plain(column, kind).str.len_chars()
            values, derive = self._add("length", lengths), aggregates.OF_LENGTHS[name]
        else:
            key = conditions.key_hash({column: kind}, nan_is_null=self._nan_is_null)
            values, derive = self._add("key", key), aggregates.OF_KEYS[name]
        return lambda narrow: derive(narrow.column(values).filter(narrow.column(looked_at)), options)

    def _mask(
        self,
        base: str,
        columns: tuple[str, ...],
        domain: Mapping[str, Any],
        options: Mapping[str, Any],
        chosen: pl.Expr | None,
    ) -> str | tuple[str, str]:
        """Give the narrow column that is true where a record is bad; for uniqueness, key and considered records."""
        kinds = {column: self.projection.schema[column] for column in columns}
        if base in conditions.UNIQUE:
            considered = self._considered(base, columns, domain, chosen)
            return self._add("key", conditions.key_hash(kinds, nan_is_null=self._nan_is_null)), considered
        bad = conditions.bad_rows(base, columns[0], kinds[columns[0]], options, nan_is_null=self._nan_is_null)
        return self._add("bad", bad if chosen is None else bad & chosen)

    def _considered(
        self, base: str, columns: tuple[str, ...], domain: Mapping[str, Any], chosen: pl.Expr | None
    ) -> str:
        nan_is_null = self._nan_is_null and base != conditions.FINITE
        absent = [conditions.missing(c, self.projection.schema[c], nan_is_null=nan_is_null) for c in columns]
        ignored = {
            "all_values_are_missing": pl.all_horizontal(absent),
            "any_value_is_missing": pl.any_horizontal(absent),
            "never": pl.lit(value=False) & absent[0],
        }[domain.get("ignore_row_if") or "all_values_are_missing"]
        return self._add("considered", ~ignored if chosen is None else ~ignored & chosen)

    def _of_mask(
        self, metric: MetricConfiguration, suffix: str, columns: tuple[str, ...], mask: str | tuple[str, str]
    ) -> Derive:
        def bad(narrow: Narrow) -> pl.Series:
            return narrow.column(mask) if isinstance(mask, str) else narrow.duplicated(*mask)

        wanted = metric.metric_value_kwargs.get("result_format") or {}
        if suffix == "unexpected_count":
            self._masks[metric.id] = bad
            return lambda narrow: int(bad(narrow).sum())
        if suffix == "unexpected_index_list":
            limit = None if wanted.get("result_format") == "COMPLETE" else wanted.get("partial_unexpected_count", 20)
            return lambda narrow: bad(narrow).arg_true()[:limit].to_list()
        if wanted.get("exclude_unexpected_values") or isinstance(mask, tuple):
            return lambda _: []
        self.projection.keep_sample(mask, columns)
        return lambda narrow: narrow.samples[mask]

    def _add(self, kind: str, expression: pl.Expr) -> str:
        """Add under a name that equal expressions share."""
        digest = hashlib.sha256(expression.meta.serialize()).hexdigest()
        return self.projection.add(f"{kind}:{digest}", expression)
