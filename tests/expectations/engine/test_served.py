"""What has no like on the pandas engine: patterns of SQL, types of Polars, schemas, positions by key."""

from __future__ import annotations

import datetime as dt
from typing import Any

import great_expectations as gx
import polars as pl
import pytest
from great_expectations.data_context.types.base import ProgressBarsConfig

from rollmill.expectations import Check, Frames, Suite
from rollmill.expectations.engine.convert import to_gx
from rollmill.expectations.engine.session import run
from tests.expectations.engine.parity.both import thirds
from tests.expectations.engine.parity.frames import INF, NAN

FRAME = pl.DataFrame(
    {
        "id": ["p", "q", "r", "s"],
        "t": ["50%", "50 x", "a_b\n", None],
        "j": ['{"x": 1}', '{"x": "1"}', "{", None],
        "n": pl.Series([1, 2, 3, 3], dtype=pl.Int8),
        "c": pl.Series(["u", "v", "u", None], dtype=pl.Categorical),
        "money": pl.Series(["1.50", "2.50", None, "4.00"]).cast(pl.Decimal(20, 2)),
        "when": pl.Series([dt.datetime(2024, 1, day, tzinfo=dt.UTC) for day in (1, 2, 3, 4)]),
        "all": pl.Series([None] * 4, dtype=pl.Null),
    }
)


def judged(expectation: str, result_format: Any = "COMPLETE", frame: pl.DataFrame = FRAME, **kwargs: Any) -> Any:
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    asset = context.data_sources.add_polars("s").add_frame_asset("a")
    data = Frames(frame.schema, thirds(frame))
    batch = asset.add_batch_definition_whole_dataframe("b").get_batch({"dataframe": data})
    suite = to_gx(Suite("s", (Check(f"expect_{expectation}", kwargs, severity="warning"),)))
    (found,) = batch.validate(suite, result_format=result_format).results
    return found


@pytest.mark.parametrize(
    ("pattern", "escape", "failing"),
    [
        ("50%", None, [2]),
        ("50\\%", "\\", [1, 2]),
        ("50!%", "!", [1, 2]),
        ("___", None, [1, 2]),
        ("%_b%", None, [0, 1]),
        ("A%", None, [0, 1, 2]),
        ("%.%", None, [0, 1, 2]),
        ("", None, [0, 1, 2]),
    ],
)
def test_like(pattern: str, escape: str | None, failing: list[int]) -> None:
    others = [row for row in (0, 1, 2) if row not in failing]
    found = judged("column_values_to_match_like_pattern", column="t", like_pattern=pattern, escape=escape)
    assert found.result["unexpected_index_list"] == failing
    found = judged("column_values_to_not_match_like_pattern", column="t", like_pattern=pattern, escape=escape)
    assert found.result["unexpected_index_list"] == others


def test_lists_of_like_patterns() -> None:
    patterns: Any = {"column": "t", "like_pattern_list": ["50%", "%\\%"], "escape": "\\"}
    assert judged("column_values_to_match_like_pattern_list", **patterns).result["unexpected_index_list"] == [2]
    found = judged("column_values_to_match_like_pattern_list", match_on="all", **patterns)
    assert found.result["unexpected_index_list"] == [1, 2]
    found = judged("column_values_to_not_match_like_pattern_list", **patterns)
    assert found.result["unexpected_index_list"] == [0, 1]


@pytest.mark.parametrize(
    ("column", "name", "success"),
    [
        ("t", "String", True),
        ("t", "str", True),
        ("n", "int8", True),
        ("n", "Int64", False),
        ("money", "Decimal", True),
        ("when", "Datetime", True),
        ("when", "Date", False),
    ],
)
def test_types(column: str, name: str, *, success: bool) -> None:
    for expectation, kwargs in (
        ("column_values_to_be_of_type", {"type_": name}),
        ("column_type_to_be", {"type_": name}),
        ("column_values_to_be_in_type_list", {"type_list": ["Struct", name]}),
    ):
        found = judged(expectation, column=column, **kwargs)
        assert (found.success, found.result["observed_value"]) == (success, str(FRAME.schema[column]))


def test_json_schema() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "number"}}}
    found = judged("column_values_to_match_json_schema", column="j", json_schema=schema)
    assert found.result["unexpected_index_list"] == [1, 2]


def test_failing_records_by_key_and_whole() -> None:
    keys = {"result_format": "COMPLETE", "unexpected_index_column_names": ["id"]}
    found = judged("column_values_to_be_between", keys, column="n", min_value=2)
    assert found.result["unexpected_index_list"] == [{"n": 1, "id": "p"}]
    whole = {"result_format": "SUMMARY", "include_unexpected_rows": True}
    found = judged("column_values_to_be_between", whole, column="n", min_value=2, frame=FRAME.select("n", "id"))
    assert found.result["unexpected_rows"] == [{"n": 1, "id": "p"}]


def test_categories_decimals_zones_and_columns_without_a_type() -> None:
    assert judged("column_values_to_be_in_set", column="c", value_set=["u"]).result["unexpected_index_list"] == [1]
    assert judged("column_distinct_values_to_equal_set", column="c", value_set=["u", "v"]).success is True
    assert judged("column_sum_to_be_between", column="money", min_value=8, max_value=8).success is True
    assert judged("column_values_to_be_between", column="money", min_value=2).result["unexpected_index_list"] == [0]
    found = judged("column_values_to_be_between", column="when", min_value="2024-01-02")
    assert found.result["unexpected_index_list"] == [0]
    assert judged("column_values_to_match_regex", column="all", regex="x").success is True
    assert judged("column_values_to_be_unique", column="all").success is True


def test_more_failing_values_than_are_kept() -> None:
    frame = pl.DataFrame({"n": range(1000)})
    found = judged("column_values_to_be_between", column="n", min_value=500, frame=frame)
    assert len(found.result["unexpected_list"]) == 200
    assert found.result["unexpected_index_list"] == list(range(500))


def test_a_line_break_at_the_end_is_part_of_the_text() -> None:
    frame = pl.DataFrame({"t": ["a", "a\n"]})
    found = judged("column_values_to_match_regex", column="t", regex="^a$", frame=frame)
    assert found.result["unexpected_index_list"] == [1]
    assert judged("column_values_to_match_regex", column="t", regex=r"^a\Z", frame=frame).result["details"]["note"]


@pytest.mark.parametrize(
    ("expectation", "kwargs", "failing"),
    [
        ("column_values_to_not_be_null", {"column": "v"}, [3]),
        ("column_values_to_be_between", {"column": "v", "min_value": 0}, [1, 2]),
        ("column_values_to_be_in_set", {"column": "v", "value_set": [1.0, INF]}, [1, 2]),
        ("column_values_to_not_be_in_set", {"column": "v", "value_set": [1.0]}, [0]),
        ("column_values_to_be_unique", {"column": "v"}, [1, 2]),
        ("column_values_to_be_increasing", {"column": "v"}, []),
        ("column_pair_values_to_be_equal", {"column_A": "v", "column_B": "w"}, [1, 2, 3]),
        ("column_pair_values_a_to_be_greater_than_b", {"column_A": "v", "column_B": "w"}, [0, 1, 2, 3, 4]),
        (
            "column_pair_values_to_be_in_set",
            {"column_A": "v", "column_B": "w", "value_pairs_set": [[None, 2]]},
            [0, 1, 2, 4],
        ),
        ("multicolumn_sum_to_equal", {"column_list": ["v", "w"], "sum_total": 2}, [1, 2, 3, 4]),
    ],
)
def test_where_nan_is_not_null(expectation: str, kwargs: Any, failing: list[int]) -> None:
    frame = pl.DataFrame({"v": [1.0, NAN, NAN, None, INF], "w": [1.0, 1.0, NAN, 2.0, INF]})
    check = Check(f"expect_{expectation}", kwargs, severity="warning")
    session = run(Frames(frame.schema, thirds(frame)), Suite("s", (check,)), values=False, nan_is_null=False)
    outcome: Any = session.outcomes[0]
    assert (outcome.error, outcome.failing.to_list()) == (None, failing)
