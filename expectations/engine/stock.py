"""Stock expectations that ask which engine they run on, or whose answers need mending.

Great Expectations makes an expectation by the name of its type when it is judged, so a class of the same name takes the
stock one's place; on other engines it is as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from great_expectations.execution_engine.execution_engine import ExecutionEngine
from great_expectations.expectations.core import (
    expect_column_kl_divergence_to_be_less_than,
    expect_column_type_to_be,
    expect_column_values_to_be_in_type_list,
    expect_column_values_to_be_of_type,
    expect_column_values_to_match_regex,
    expect_column_values_to_match_regex_list,
    expect_column_values_to_not_match_regex,
    expect_column_values_to_not_match_regex_list,
)
from great_expectations.validator.metric_configuration import MetricConfiguration
from great_expectations.validator.validator import ValidationDependencies

from rollmill.expectations.engine import type_names
from rollmill.expectations.engine.engine import PolarsExecutionEngine
from rollmill.expectations.engine.metrics.texts import fallback_note

Json = dict[str, Any]
Engine = ExecutionEngine[Any] | None

NOTE: Final = "note"
"""The member of a result's `details` that says how an answer was come by."""


def _typed(metrics: Mapping[str, Any], column: Any, wanted: Any) -> Json:
    """Compare a column's type with names of types. Raises ValueError for a name that is none, or no such column."""
    found = {one["name"]: one["type"] for one in metrics["table.column_types"]}
    if column not in found:
        raise ValueError(f"There is no column {column!r}. The columns are: {', '.join(found) or 'none'}.")
    success = wanted is None or any(type_names.named(found[column], name) for name in wanted)
    return {"success": success, "result": {"observed_value": found[column]}}


class ExpectColumnValuesToBeOfType(expect_column_values_to_be_of_type.ExpectColumnValuesToBeOfType):
    """On Polars: the column has this type; values have that of their column."""

    def _validate(
        self, metrics: Json, runtime_configuration: Json | None = None, execution_engine: Engine = None
    ) -> Any:
        if not isinstance(execution_engine, PolarsExecutionEngine):
            return super()._validate(metrics, runtime_configuration, execution_engine)
        return _typed(metrics, self.column, [self.type_])


class ExpectColumnValuesToBeInTypeList(expect_column_values_to_be_in_type_list.ExpectColumnValuesToBeInTypeList):
    """On Polars: the column has one of these types."""

    def _validate(
        self, metrics: Json, runtime_configuration: Json | None = None, execution_engine: Engine = None
    ) -> Any:
        if not isinstance(execution_engine, PolarsExecutionEngine):
            return super()._validate(metrics, runtime_configuration, execution_engine)
        return _typed(metrics, self.column, self.type_list)


class ExpectColumnTypeToBe(expect_column_type_to_be.ExpectColumnTypeToBe):
    """On Polars: the column has this type."""

    def _validate(
        self, metrics: Json, runtime_configuration: Json | None = None, execution_engine: Engine = None
    ) -> Any:
        if not isinstance(execution_engine, PolarsExecutionEngine):
            return super()._validate(metrics, runtime_configuration, execution_engine)
        return _typed(metrics, self.column, [self.type_])


class _Noted:
    """Says in the result, under `details`, which regexes Polars could not run."""

    def _validate(
        self, metrics: Json, runtime_configuration: Json | None = None, execution_engine: Engine = None
    ) -> Any:
        found = super()._validate(metrics, runtime_configuration, execution_engine)  # type: ignore[misc]
        kwargs = self.configuration.kwargs  # type: ignore[attr-defined]
        note = fallback_note(kwargs["regex_list"] if "regex_list" in kwargs else [kwargs["regex"]])
        if note and "result" in found and isinstance(execution_engine, PolarsExecutionEngine):
            found["result"]["details"] = {NOTE: note}
        return found


class ExpectColumnValuesToMatchRegex(_Noted, expect_column_values_to_match_regex.ExpectColumnValuesToMatchRegex):
    """The stock one, with a note if Python runs its regex."""


class ExpectColumnValuesToNotMatchRegex(
    _Noted, expect_column_values_to_not_match_regex.ExpectColumnValuesToNotMatchRegex
):
    """The stock one, with a note if Python runs its regex."""


class ExpectColumnValuesToMatchRegexList(
    _Noted, expect_column_values_to_match_regex_list.ExpectColumnValuesToMatchRegexList
):
    """The stock one, with a note if Python runs some of its regexes."""


class ExpectColumnValuesToNotMatchRegexList(
    _Noted, expect_column_values_to_not_match_regex_list.ExpectColumnValuesToNotMatchRegexList
):
    """The stock one, with a note if Python runs some of its regexes."""


class ExpectColumnKLDivergenceToBeLessThan(
    expect_column_kl_divergence_to_be_less_than.ExpectColumnKLDivergenceToBeLessThan
):
    """The stock one asks for bins while it is asked what it needs, and what fails there takes the whole suite along."""

    def get_validation_dependencies(
        self, execution_engine: Engine = None, runtime_configuration: Json | None = None
    ) -> ValidationDependencies:
        """Ask for the bins as for any metric: this engine says why it does not give them."""
        if isinstance(execution_engine, PolarsExecutionEngine) and self.partition_object is None and self._bucketized:
            domain = self.configuration.get_domain_kwargs()
            bins = MetricConfiguration("column.partition", domain, {"bins": "auto", "allow_relative_error": False})
            return ValidationDependencies({"column.partition": bins})
        try:
            needed: ValidationDependencies = super().get_validation_dependencies(
                execution_engine, runtime_configuration
            )
        except ValueError:  # a partition_object that is none: `_validate` says so, and takes no other along
            if isinstance(execution_engine, PolarsExecutionEngine):
                return ValidationDependencies()
            raise
        return needed

    @property
    def _bucketized(self) -> bool:
        return bool(self.configuration.kwargs.get("bucketize_data", True))

    def _validate(
        self, metrics: Json, runtime_configuration: Json | None = None, execution_engine: Engine = None
    ) -> Any:
        if isinstance(execution_engine, PolarsExecutionEngine) and metrics.get("column_values.nonnull.count") == 0:
            return {"success": self.threshold is None, "result": {"observed_value": None}}  # stock: divides by zero
        found = super()._validate(metrics, runtime_configuration, execution_engine)
        return {**found, "success": bool(found["success"])}  # a numpy.bool, which no store of results can write
