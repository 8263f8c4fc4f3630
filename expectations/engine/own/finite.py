"""Our own expectation: no NaN, no infinity. The stock ones take NaN for null and infinity for a number."""

from __future__ import annotations

from typing import Any, ClassVar

from great_expectations.execution_engine.execution_engine import ExecutionEngine
from great_expectations.expectations.expectation import ColumnMapExpectation
from great_expectations.expectations.registry import get_metric_kwargs
from great_expectations.validator.metric_configuration import MetricConfiguration
from great_expectations.validator.validator import ValidationDependencies

from rollmill.expectations.engine.metrics.conditions import FINITE
from rollmill.expectations.engine.own.sentences import Sentence

_MISSING = "column_values.nonnull.unexpected_count"
_LOOKED_AT = f"{FINITE}.filtered_row_count"


class ExpectColumnValuesToBeFinite(Sentence, ColumnMapExpectation):
    """Expect the numbers of a column to be neither NaN nor infinite; nulls are passed over.

    In a text column, texts (quoted or not) that stand for NaN or an infinite number fail; others pass.
    """

    map_metric: ClassVar[str] = FINITE
    library_metadata: ClassVar[dict[str, Any]] = {"maturity": "production", "tags": ["rollmill"], "contributors": []}
    sentence: ClassVar[str] = "Numbers in $column must be neither NaN nor infinite"

    def get_validation_dependencies(
        self,
        execution_engine: ExecutionEngine[Any] | None = None,
        runtime_configuration: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> ValidationDependencies:
        """Ask also for the number of values that are not null, where NaN is not null."""
        needed = super().get_validation_dependencies(execution_engine, runtime_configuration, **kwargs)
        found = get_metric_kwargs(_LOOKED_AT, self.configuration, runtime_configuration)
        metric = MetricConfiguration(_LOOKED_AT, found["metric_domain_kwargs"], found["metric_value_kwargs"])
        needed.set_metric_configuration(_LOOKED_AT, metric)
        return needed

    def _validate(self, metrics: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        missing = metrics["table.row_count"] - metrics[_LOOKED_AT]
        return super()._validate({**metrics, _MISSING: missing}, *args, **kwargs)
