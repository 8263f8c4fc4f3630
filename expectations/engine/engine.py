"""The execution engine: it gets all metrics of a suite in one wave and goes over the stream once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any, cast

import polars as pl
from great_expectations.core.batch import BatchData, BatchMarkers
from great_expectations.core.id_dict import BatchSpec
from great_expectations.exceptions.exceptions import MetricResolutionError
from great_expectations.execution_engine.execution_engine import ExecutionEngine
from great_expectations.expectations.row_conditions import Condition
from great_expectations.validator.metric_configuration import MetricConfiguration, MetricConfigurationID

from rollmill.expectations.engine.metrics.compiler import Answers, Plan
from rollmill.expectations.engine.metrics.narrow import Narrow
from rollmill.expectations.engine.metrics.projection import Projection
from rollmill.expectations.engine.metrics.row_conditions import selected
from rollmill.expectations.engine.streams import Prunable
from rollmill.expectations.stream import FrameStream


class StreamData(BatchData):
    """A stream as a batch of Great Expectations, with the answers found so far: they live no longer than it."""

    def __init__(self, execution_engine: PolarsExecutionEngine, stream: FrameStream) -> None:
        super().__init__(execution_engine=execution_engine)
        self.stream = stream
        self.answers = Answers()
        self.rows = 0
        self.passes = 0
        self.narrow_bytes = 0

    def answer(self, metrics: list[MetricConfiguration], *, nan_is_null: bool) -> None:
        """Compute metrics, all in one pass; none if they need no record."""
        plan = Plan(metrics, self.stream.schema, nan_is_null=nan_is_null)
        narrow = Narrow(0, pl.DataFrame())
        if plan.projection.rows_needed:
            narrow = plan.projection.sweep(_pruned(self.stream, plan.projection.columns))
            self.rows = narrow.rows
            self.passes += 1
            self.narrow_bytes = int(narrow.frame.estimated_size())
        found = plan.judge(narrow)
        self.answers.values.update(found.values)
        self.answers.errors.update(found.errors)
        self.answers.masks.update(found.masks)


def _pruned(stream: FrameStream, columns: list[str]) -> FrameStream:
    return stream.only(columns) if isinstance(stream, Prunable) else stream


class PolarsExecutionEngine(ExecutionEngine[pl.Expr]):
    """Serves the metrics of stock expectations on streams of Polars frames.

    `nan_is_null` takes NaN for missing, as pandas does: row-level checks then pass over it and `not null` reports it;
    without, NaN is a value outside of every range. Aggregates leave NaN out either way.
    """

    def __init__(self, *args: Any, nan_is_null: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "caching": False})
        self.nan_is_null = nan_is_null

    def get_batch_data_and_markers(self, batch_spec: BatchSpec) -> tuple[StreamData, BatchMarkers]:
        """Wrap a stream."""
        loaded = dt.datetime.now(dt.UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        return StreamData(self, batch_spec["stream"]), BatchMarkers({"ge_load_time": loaded})

    def resolve_metrics(
        self,
        metrics_to_resolve: Iterable[MetricConfiguration],
        *_: Any,
        **__: Any,
    ) -> dict[MetricConfigurationID, Any]:
        """Answer all metrics asked for, in one pass per batch.

        Metrics without an answer are reported one per call, each with its own words: Great Expectations asks again for
        the others (three times for each failing one), which are remembered.
        """
        wanted = sorted(metrics_to_resolve, key=lambda metric: metric.id)
        found: dict[MetricConfigurationID, Any] = {}
        for data, group in self._by_batch(wanted):
            known = data.answers
            news = [m for m in group if m.id not in known.values and m.id not in known.errors]
            if news:
                data.answer(news, nan_is_null=self.nan_is_null)
            for metric in group:
                if metric.id in known.errors:
                    raise MetricResolutionError(message=known.errors[metric.id], failed_metrics=[metric])
                found[metric.id] = known.values[metric.id]
        return found

    def _by_batch(self, metrics: list[MetricConfiguration]) -> list[tuple[StreamData, list[MetricConfiguration]]]:
        groups: dict[str | None, list[MetricConfiguration]] = {}
        for metric in metrics:
            groups.setdefault(metric.metric_domain_kwargs.get("batch_id"), []).append(metric)
        return [(self._data(batch), group) for batch, group in groups.items()]

    def _data(self, batch: str | None = None) -> StreamData:
        """Give a batch's stream, by default that of the batch loaded last."""
        manager = self.batch_manager
        return cast(StreamData, manager.batch_data_cache[batch] if batch else manager.active_batch_data)

    def _filter_clause(self, condition: Condition) -> pl.Expr:
        return selected(condition, Projection(self._data().stream.schema), nan_is_null=self.nan_is_null)

    _comparison_condition_to_filter_clause = _filter_clause
    _nullity_condition_to_filter_clause = _filter_clause
    _and_condition_to_filter_clause = _filter_clause
    _or_condition_to_filter_clause = _filter_clause
