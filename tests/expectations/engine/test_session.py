"""One suite on one stream, many at a time: right results, no state, and registered expectations stay the stock ones."""

import gc
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor

import great_expectations.expectations as gxe
import polars as pl
from great_expectations.expectations.registry import get_expectation_impl

from rollmill.expectations.engine.session import run
from rollmill.expectations.stream import Frames
from rollmill.expectations.suites import Check, Suite

SUITE = Suite(
    "s",
    (
        Check("expect_column_values_to_not_be_null", {"column": "k"}, severity="warning"),
        Check("expect_column_values_to_be_between", {"column": "v", "min_value": 0}, severity="warning"),
        Check("expect_table_row_count_to_equal", {"value": 200}, severity="warning"),
    ),
)


def stream(nulls: int, negative: int) -> Frames:
    keys = pl.Series("k", [None] * nulls + ["x"] * (200 - nulls), dtype=pl.String)
    frame = pl.DataFrame([keys, pl.Series("v", [-1.0] * negative + [1.0] * (200 - negative))])
    return Frames(frame.schema, [frame[:77], frame[77:]])


def failing(nulls: int) -> tuple[int, ...]:
    session = run(stream(nulls, 199 - nulls), SUITE, values=False, nan_is_null=False)
    return tuple(outcome.result.get("unexpected_count", -1) for outcome in session.outcomes)


def test_many_at_a_time_do_not_mix() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(failing, range(120))) == [(i, 199 - i, -1) for i in range(120)]
    finally:
        sys.setswitchinterval(before)


def test_nothing_of_a_stream_outlives_its_run() -> None:
    judged = stream(1, 1)
    gone = weakref.ref(judged)
    session = run(judged, SUITE, values=False, nan_is_null=False)
    del judged
    gc.collect()
    assert gone() is None
    assert session.passes == 1


def test_the_stock_expectations_stay_registered() -> None:
    failing(3)
    assert get_expectation_impl("expect_column_values_to_not_be_null") is gxe.ExpectColumnValuesToNotBeNull
    assert get_expectation_impl("expect_table_row_count_to_equal") is gxe.ExpectTableRowCountToEqual


def test_a_result_holds_no_text_of_a_column_unless_asked_for() -> None:
    frame = pl.DataFrame({"k": ["secret", "secret", "b"]})
    checks = (
        Check("expect_column_most_common_value_to_be_in_set", {"column": "k", "value_set": ["z"]}, severity="warning"),
        Check("expect_column_values_to_be_in_set", {"column": "k", "value_set": ["z"]}, severity="warning"),
        Check("expect_column_distinct_values_to_be_in_set", {"column": "k", "value_set": ["z"]}, severity="warning"),
    )
    judged = [run(Frames(frame.schema, [frame]), Suite("s", checks), values=v, nan_is_null=True) for v in (False, True)]
    assert "secret" not in str(judged[0])
    assert [str(one["result"]).count("secret") > 0 for one in judged[1].result["results"]] == [True] * 3
