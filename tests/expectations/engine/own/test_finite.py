from typing import Any

import polars as pl
import pytest
from great_expectations.expectations.row_conditions import Column

from rollmill.expectations import Check, Frames, Suite
from rollmill.expectations.engine.session import run

NAN, INF = float("nan"), float("inf")


def judged(values: Any, nan_is_null: Any, **kwargs: Any) -> Any:
    frame = pl.DataFrame({"v": values, "g": [1] * (len(values) - 1) + [2]})
    check = Check("expect_column_values_to_be_finite", {"column": "v", **kwargs}, severity="warning")
    (outcome,) = run(
        Frames(frame.schema, [frame]), Suite("s", (check,)), values=False, nan_is_null=nan_is_null
    ).outcomes
    return outcome


@pytest.mark.parametrize("nan_is_null", [True, False])
def test_nan_and_infinity_fail_and_null_passes(nan_is_null: Any) -> None:
    outcome = judged([1.0, NAN, None, -INF, INF, 0.0], nan_is_null)
    assert outcome.failing.to_list() == [1, 3, 4]
    assert (outcome.success, outcome.result["missing_count"], outcome.result["unexpected_percent"]) == (False, 1, 60.0)


@pytest.mark.parametrize("nan_is_null", [True, False])
def test_nothing_but_nan_fails(nan_is_null: Any) -> None:
    assert judged([NAN, NAN], nan_is_null).success is False


def test_nothing_but_null_passes() -> None:
    assert judged([None, None], nan_is_null=True).error is not None  # a column of type Null holds no numbers
    assert judged(pl.Series([None, None], dtype=pl.Float64), nan_is_null=True).success is True


def test_mostly_and_row_condition() -> None:
    assert judged([1.0, NAN, 1.0, 1.0], nan_is_null=True, mostly=0.75).success is True
    assert judged([1.0, NAN, 1.0, 1.0], nan_is_null=True, mostly=0.8).success is False
    assert judged([1.0, NAN], nan_is_null=True, row_condition=(Column("g") == 1).dict()).success is True


def test_integers_pass_and_other_types_cannot_be_judged() -> None:
    assert judged([1, 2], nan_is_null=True).success is True
    assert "neither number nor text" in judged([True, False], nan_is_null=True).error
