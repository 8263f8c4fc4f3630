from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from rollmill.expectations import Frames, suite_for, validate_stream

PARSED = "expect_column_pair_values_a_to_end_in_number_b"


def judged(responses: list[Any], preds: list[Any], kind: Any = pl.Float64) -> Any:
    """Give what is found of the value read from the answer; None if it is not looked at."""
    count = len(responses)
    columns = {"prompt": ["p"] * count, "response": responses, "target": [1.0] * count, "score": [0.5] * count}
    frame = pl.DataFrame(columns).with_columns(pred=pl.Series(preds, dtype=kind))
    judgement = validate_stream(
        Frames(frame.schema, [frame]), suite_for("ppo_critic", frame.to_arrow().schema), name="x"
    )
    found = [finding for finding in judgement.findings if finding.expectation == PARSED]
    return (found[0].success, found[0].unexpected) if found else None


@pytest.mark.parametrize("response", ["Value: 0.71", r"so \boxed{0.71}, not 3.", "it is 0.705"])
def test_an_answer_that_ends_in_its_value(response: str) -> None:
    assert judged([response] * 3, [0.71] * 3) == (True, 0)


def test_values_that_were_read_otherwise_are_a_warning() -> None:
    assert judged(["Value: 7"] * 10, [0.7] * 10) == (False, 10)
    assert judged(["Value: 0.7"] * 19 + ["no value"], [0.7] * 20) == (True, 1), "a few are what parsers live with"


def test_what_can_not_be_compared_is_not() -> None:
    assert judged(["Value: 7"], ["7"], pl.String) is None
    assert judged(["Value: 7"], [None], pl.Null) is None
    assert judged(["Value: 7", None], [None, 7.0]) == (True, 0)


def test_the_suite_takes_what_columns_there_are() -> None:
    assert suite_for("ppo_critic", pa.schema({"prompt": pa.string(), "response": pa.string()})).checks
