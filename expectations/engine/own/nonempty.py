"""Our own expectation: there are records. Nearly all stock ones pass when there is nothing to look at."""

from __future__ import annotations

from typing import Any, ClassVar

from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.model_field_types import ConditionParser
from great_expectations.expectations.row_conditions import RowConditionType

from rollmill.expectations.engine.own.sentences import Sentence


class ExpectTableToHaveRows(Sentence, BatchExpectation):
    """Expect at least one record, under the row condition if there is one. Works on every engine."""

    row_condition: RowConditionType = None
    condition_parser: ConditionParser | None = None

    metric_dependencies: ClassVar[tuple[str, ...]] = ("table.row_count",)
    domain_keys: ClassVar[tuple[str, ...]] = ("row_condition", "condition_parser")
    success_keys: ClassVar[tuple[str, ...]] = ()
    library_metadata: ClassVar[dict[str, Any]] = {"maturity": "production", "tags": ["rollmill"], "contributors": []}
    sentence: ClassVar[str] = "There must be rows"

    def _validate(self, metrics: dict[str, Any], *args: Any, **kwargs: Any) -> dict[str, Any]:
        rows = metrics["table.row_count"]
        return {"success": rows > 0, "result": {"observed_value": rows}}
