"""Registers this engine for the metrics it serves.

A provider declares no dependencies, so every metric of a suite is ready in the first wave and the engine is asked once.
"""

from __future__ import annotations

from typing import Any, Final

from great_expectations.expectations.metrics.metric_provider import MetricProvider
from great_expectations.expectations.registry import _registered_metrics, register_core_metrics, register_metric

from rollmill.expectations.engine.aggregates import AGGREGATES
from rollmill.expectations.engine.compiler import SUFFIXES
from rollmill.expectations.engine.conditions import FINITE, MAP_METRICS
from rollmill.expectations.engine.engine import PolarsExecutionEngine

_MODEL: Final = "column_values.null"


def register() -> None:
    """Register every metric that stock expectations know and this engine serves, and those of `finite`."""
    register_core_metrics()
    for name in (*AGGREGATES, *(f"{base}.{suffix}" for base in MAP_METRICS for suffix in SUFFIXES)):
        if name in _registered_metrics:
            _register(name, _registered_metrics[name])
    for suffix in SUFFIXES:
        model = "unexpected_count" if suffix == "filtered_row_count" else suffix
        _register(f"{FINITE}.{suffix}", _registered_metrics[f"{_MODEL}.{model}"])


def _register(name: str, definition: dict[str, Any]) -> None:
    defaults = definition["default_kwarg_values"]
    keys = {"domain_keys": definition["metric_domain_keys"], "value_keys": definition["metric_value_keys"]}
    register_metric(
        metric_name=name,
        metric_domain_keys=keys["domain_keys"],
        metric_value_keys=keys["value_keys"],
        execution_engine=PolarsExecutionEngine,
        metric_class=type(f"Polars[{name}]", (_Independent,), {**keys, "default_kwarg_values": defaults}),
        metric_provider=None,
    )


class _Independent(MetricProvider):
    @classmethod
    def _get_evaluation_dependencies(cls, *_: Any, **__: Any) -> dict[str, Any]:
        return {}
