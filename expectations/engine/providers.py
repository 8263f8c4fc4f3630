"""Registers this engine for the metrics it serves.

A provider declares no dependencies, so every metric of a suite is ready in the first wave and the engine is asked once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from great_expectations.expectations.metrics.metric_provider import MetricProvider
from great_expectations.expectations.registry import _registered_metrics, register_core_metrics, register_metric

from rollmill.expectations.engine import own, stock  # noqa: F401 - both register expectations
from rollmill.expectations.engine.engine import PolarsExecutionEngine
from rollmill.expectations.engine.metrics.compiler import SERVED
from rollmill.expectations.engine.metrics.conditions import END_NUMBER, FINITE

_METRICS: Final = {
    FINITE: ("column_values.null", ()),
    END_NUMBER: ("column_pair_values.equal", ("tolerance", "no_number")),
}
"""Our own metrics: the stock one with the same domain, and the arguments they have beside it."""


def register() -> None:
    """Register every metric that expectations know and this engine serves: stock ones, and those of our own."""
    register_core_metrics()
    for name in SERVED:
        base, _, suffix = name.rpartition(".")
        if base in _METRICS:
            model, arguments = _METRICS[base]
            stock = _registered_metrics.get(f"{model}.{suffix}") or _registered_metrics[f"{model}.unexpected_count"]
            _register(name, {**stock, "metric_value_keys": (*stock["metric_value_keys"], *arguments)})
        elif name in _registered_metrics:
            _register(name, _registered_metrics[name])


def _register(name: str, definition: Mapping[str, Any]) -> None:
    keys = {"domain_keys": definition["metric_domain_keys"], "value_keys": definition["metric_value_keys"]}
    members = {**keys, "default_kwarg_values": definition["default_kwarg_values"]}
    register_metric(
        metric_name=name,
        metric_domain_keys=keys["domain_keys"],
        metric_value_keys=keys["value_keys"],
        execution_engine=PolarsExecutionEngine,
        metric_class=type(f"Polars[{name}]", (_Independent,), members),
        metric_provider=None,
    )


class _Independent(MetricProvider):
    @classmethod
    def _get_evaluation_dependencies(cls, *_: Any, **__: Any) -> dict[str, Any]:
        return {}
