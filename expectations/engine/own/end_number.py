"""Our own expectation: an answer ends in the number that was read from it."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from great_expectations.expectations.expectation import ColumnPairMapExpectation

from rollmill.expectations.engine.metrics.conditions import END_NUMBER
from rollmill.expectations.engine.own.sentences import Sentence


class ExpectColumnPairValuesAToEndInNumberB(Sentence, ColumnPairMapExpectation):
    r"""Expect the last number in the text of `column_A` to be that of `column_B`, give or take `tolerance`.

    What the last `\boxed{…}` of a text holds goes before the rest of it. A text without a number fails, or passes with
    `no_number="pass"`; records where one of the columns has no value (NaN is none) are passed over.
    """

    tolerance: float = 0.0
    no_number: Literal["fail", "pass"] = "fail"
    ignore_row_if: Literal["both_values_are_missing", "either_value_is_missing", "neither"] = "either_value_is_missing"

    map_metric: ClassVar[str] = END_NUMBER
    domain_keys = (*ColumnPairMapExpectation.domain_keys, "ignore_row_if")  # type: ignore[assignment]
    success_keys: ClassVar[tuple[str, ...]] = ("mostly", "tolerance", "no_number")
    library_metadata: ClassVar[dict[str, Any]] = {"maturity": "production", "tags": ["rollmill"], "contributors": []}
    sentence: ClassVar[str] = "The last number in $column_A must equal $column_B, give or take $tolerance"
    defaults: ClassVar[dict[str, Any]] = {"tolerance": 0.0}
