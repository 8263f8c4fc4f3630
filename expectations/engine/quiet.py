"""A validator of Great Expectations without its noise, where one expectation can't take the others along."""

from __future__ import annotations

import traceback
from typing import Any

from great_expectations.core.expectation_validation_result import ExpectationValidationResult
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.validator.validator import Validator


class QuietValidator(Validator):
    """A validator without a data context, and so without its 30 ms; one without also shows progress bars."""

    def _determine_progress_bars(self) -> bool:
        return False

    def _generate_metric_dependency_subgraphs_for_each_expectation_configuration(
        self,
        expectation_configurations: list[ExpectationConfiguration],
        processed_configurations: list[ExpectationConfiguration],
        catch_exceptions: bool,  # noqa: FBT001
        runtime_configuration: dict[str, Any] | None = None,
    ) -> Any:
        """Ask each expectation alone what it needs: what one raises there is lost on the stock validator."""
        graphs: list[Any] = []
        failed: list[ExpectationValidationResult] = []
        for one in expectation_configurations:
            try:
                found = super()._generate_metric_dependency_subgraphs_for_each_expectation_configuration(
                    [one], processed_configurations, catch_exceptions, runtime_configuration
                )
            except Exception as error:  # noqa: BLE001 - expectations are anybody's
                self._catch_exceptions_in_failing_expectation_validations(traceback.format_exc(), error, [one], failed)
            else:
                graphs += found[0]
                failed += found[1]
        return graphs, failed, processed_configurations
