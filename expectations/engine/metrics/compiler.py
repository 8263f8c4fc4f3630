"""All metrics of a suite as one projection, and how each follows from the narrow frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl
from great_expectations.validator.metric_configuration import MetricConfiguration, MetricConfigurationID

from rollmill.expectations.engine.metrics import rows
from rollmill.expectations.engine.metrics.aggregates import AGGREGATES, row_count
from rollmill.expectations.engine.metrics.distinct import DISTINCT, distinct
from rollmill.expectations.engine.metrics.narrow import Narrow, UnservedError, first_paragraph
from rollmill.expectations.engine.metrics.projection import Projection
from rollmill.expectations.engine.metrics.row_conditions import selected
from rollmill.expectations.engine.metrics.rows import Rows
from rollmill.expectations.engine.metrics.scope import Scope

Derive = Callable[[Narrow], Any]

TABLE: Final = ("table.row_count", "table.columns", "table.column_count", "table.column_types")
SUFFIXES: Final[dict[str, Callable[[rows.Answer], Derive]]] = {
    "unexpected_count": rows.Answer.count,
    "unexpected_values": rows.Answer.values,
    "unexpected_index_list": rows.Answer.positions,
    "unexpected_rows": rows.Answer.records,
}
"""Metrics of a row-level condition that follow from its failing records."""

LOOKED_AT: Final = "filtered_row_count"
QUERY: Final = "unexpected_index_query"
SERVED: Final = (
    *TABLE,
    *AGGREGATES,
    *DISTINCT,
    *(f"{base}.{suffix}" for base in rows.MAP_METRICS for suffix in (*SUFFIXES, LOOKED_AT, QUERY)),
)
"""The names of all metrics that this engine serves."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What a pass gave per metric: its value or why there is none; and for each `unexpected_count` the bad records."""

    values: dict[MetricConfigurationID, Any] = field(default_factory=dict)
    errors: dict[MetricConfigurationID, str] = field(default_factory=dict)
    masks: dict[MetricConfigurationID, pl.Series] = field(default_factory=dict)


class Plan:
    """The projection of a set of metrics, record by record, and their answers (`judge`), over the whole."""

    def __init__(self, metrics: Iterable[MetricConfiguration], schema: pl.Schema, *, nan_is_null: bool) -> None:
        self.projection = Projection(schema)
        self._nan_is_null = nan_is_null
        self._derive: dict[MetricConfigurationID, Derive] = {}
        self._masks: dict[MetricConfigurationID, Derive] = {}
        self._errors: dict[MetricConfigurationID, str] = {}
        self._failing: dict[str, Rows] = {}
        for metric in metrics:
            try:
                self._derive[metric.id] = self._compile(metric)
            except Exception as error:  # noqa: BLE001 - arguments that make no expression
                self._errors[metric.id] = _told(error)

    def judge(self, narrow: Narrow) -> Answers:
        """Derive every metric. One that fails does not hide the others."""
        answers = Answers(errors=dict(self._errors))
        for key, derive in self._derive.items():
            try:
                answers.values[key] = derive(narrow)
                if key in self._masks:
                    answers.masks[key] = self._masks[key](narrow)
            except Exception as error:  # noqa: BLE001
                answers.values.pop(key, None)
                answers.errors[key] = _told(error)
        return answers

    def _compile(self, metric: MetricConfiguration) -> Derive:
        name, domain, options = metric.metric_name, metric.metric_domain_kwargs, metric.metric_value_kwargs
        if domain.get("table"):
            raise UnservedError("The Polars engine does not serve it: there is one table, that of the stream.")
        scope = self._scope(domain)
        if name in TABLE:
            return self._table(name, scope)
        if name in AGGREGATES:
            return AGGREGATES[name](scope, domain["column"], options)
        if name in DISTINCT:
            return distinct(name, scope, domain["column"], options)
        base, _, suffix = name.rpartition(".")
        if base not in rows.MAP_METRICS:
            raise UnservedError(f"The Polars engine does not serve the metric {name!r}.")
        return self._of_rows(metric, base, suffix, scope)

    def _scope(self, domain: Mapping[str, Any]) -> Scope:
        condition = domain.get("row_condition")
        if condition is None:
            return Scope(self.projection, None, self._nan_is_null)
        return Scope(
            self.projection, selected(condition, self.projection, nan_is_null=self._nan_is_null), self._nan_is_null
        )

    def _table(self, name: str, scope: Scope) -> Derive:
        schema = self.projection.schema
        if name == "table.row_count":
            return row_count(scope)
        answers = {
            "table.columns": list(schema),
            "table.column_count": len(schema),
            "table.column_types": [{"name": name, "type": str(kind)} for name, kind in schema.items()],
        }
        return lambda _: answers[name]

    def _of_rows(self, metric: MetricConfiguration, base: str, suffix: str, scope: Scope) -> Derive:
        domain, options = metric.metric_domain_kwargs, metric.metric_value_kwargs
        for column in rows.columns_of(domain):
            scope.kind(column)
        if suffix == QUERY:
            return lambda _: None
        if suffix == LOOKED_AT:
            looked_at = scope.add("considered", rows.considered(scope, base, domain))
            return lambda narrow: int(narrow.column(looked_at).sum())
        failing = self._failing_records(scope, base, domain, options)
        if suffix == "unexpected_count":
            self._masks[metric.id] = failing.bad
        return SUFFIXES[suffix](rows.Answer(scope, domain, failing, options))

    def _failing_records(self, scope: Scope, base: str, domain: Mapping[str, Any], options: Mapping[str, Any]) -> Rows:
        """Compile a condition once for all metrics that follow from its failing records."""
        asked = {key: value for key, value in options.items() if key != "result_format"}
        name = repr((base, sorted(domain.items()), sorted(asked.items())))
        if name not in self._failing:
            self._failing[name] = rows.failing(scope, base, domain, asked)
        return self._failing[name]


def _told(error: Exception) -> str:
    """Give an error in a line; one that is no word of the engine's own with its kind."""
    own = isinstance(error, UnservedError | pl.exceptions.PolarsError)
    return first_paragraph(error) if own else f"{type(error).__name__}: {first_paragraph(error)}"
