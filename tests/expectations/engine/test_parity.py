"""Equal answers from this engine and from the pandas engine of Great Expectations, on small data with every oddity."""

import math
from typing import Any

import great_expectations as gx
import polars as pl
import pytest
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.expectations.row_conditions import Column

from rollmill.expectations import Check, Frames, Suite
from rollmill.expectations.engine.convert import to_gx
from rollmill.expectations.engine.session import run

NAN, INF = float("nan"), float("inf")
FRAME = pl.DataFrame(
    {
        "k": ["a", "a", "b", "", None, "ü€𝄞", "b ", None],
        "g": [1, 1, 1, 2, 2, 2, 3, 3],
        "v": [1.0, 5.0, NAN, None, INF, 3.0, -0.0, 0.0],
        "w": [0.5, 0.25, None, NAN, 4.0, 4.0, 1.0, -1.0],
        "b": [True, False, True, True, False, False, True, True],
        "nothing": pl.Series([None] * 8, dtype=pl.Float64),
    }
)


def warn(expectation: Any, **kwargs: Any) -> Any:
    return Check(f"expect_{expectation}", kwargs, severity="warning")


ROWS = [
    *(warn("column_values_to_not_be_null", column=c) for c in FRAME.columns),
    *(warn("column_values_to_be_null", column=c) for c in FRAME.columns),
    *(warn("column_values_to_be_unique", column=c) for c in ("k", "g", "v", "w")),
    warn("column_values_to_be_between", column="v", min_value=0, max_value=4),
    warn("column_values_to_be_between", column="v", min_value=0, strict_min=True),
    warn("column_values_to_be_between", column="v", max_value=5, strict_max=True),
    warn("column_values_to_be_between", column="nothing", max_value=5),
    warn("column_values_to_be_between", column="g", min_value=2, mostly=0.5),
    warn("column_values_to_be_in_set", column="k", value_set=["a", "b"]),
    warn("column_values_to_be_in_set", column="g", value_set=[1, 2]),
    warn("column_values_to_not_be_in_set", column="k", value_set=["", "b"]),
    warn("column_values_to_not_be_in_set", column="v", value_set=[0.0, 3.0]),
    warn("column_values_to_match_regex", column="k", regex="^[ab]$"),
    warn("column_values_to_not_match_regex", column="k", regex=r"^\s*$"),
    warn("column_value_lengths_to_be_between", column="k", min_value=1, max_value=2),
    warn("column_value_lengths_to_be_between", column="k", min_value=1, strict_min=True),
    warn("column_value_lengths_to_equal", column="k", value=1),
    *(
        warn("compound_columns_to_be_unique", column_list=columns, ignore_row_if=ignored)
        for columns in (["k", "g"], ["v", "w"], ["g", "b"])
        for ignored in ("all_values_are_missing", "any_value_is_missing", "never")
    ),
]
TABLE = [
    warn("table_row_count_to_equal", value=8),
    warn("table_row_count_to_be_between", min_value=9),
    warn("table_columns_to_match_set", column_set=["k", "g"], exact_match=False),
    warn("table_columns_to_match_ordered_list", column_list=list(FRAME.columns)),
    warn("table_column_count_to_equal", value=5),
    warn("column_to_exist", column="k"),
    warn("column_to_exist", column="zz"),
]
AGGREGATES = [
    *(
        warn(f"column_{what}_to_be_between", column=c, min_value=0, max_value=4)
        for what in ("min", "max", "mean", "stdev", "sum", "median")
        for c in ("w", "g", "nothing")
        if (what, c) not in {("sum", "nothing")}
    ),
    *(
        warn(
            "column_quantile_values_to_be_between",
            column=c,
            quantile_ranges={"quantiles": [0.05, 0.5, 0.9], "value_ranges": [[0, 1], [0, 2], [None, 4]]},
        )
        for c in ("w", "g")
    ),
    *(warn("column_unique_value_count_to_be_between", column=c, min_value=3, max_value=9) for c in ("k", "g", "v")),
    *(warn("column_proportion_of_unique_values_to_be_between", column=c, min_value=0.7) for c in ("k", "g", "w")),
]


def of(condition: Any, *checks: Any) -> Any:
    return [Check(c.type, {**c.kwargs, "row_condition": condition.dict()}, severity="warning") for c in checks]


CONDITIONS = [
    Column("g") == 1,
    Column("g") != 2,
    Column("k") != "a",
    Column("v") > 2,
    Column("v") <= 3,
    Column("k").is_in(["a", "b"]),
    Column("k").is_not_in(["a"]),
    Column("v").is_null(),
    Column("v").is_not_null(),
    (Column("g") == 1) & (Column("k") == "a"),
    (Column("g") == 1) | (Column("k").is_null()),
]
SOME = [
    ROWS[0],
    *(c for c in ROWS if c.type in {"expect_column_values_to_be_unique", "expect_compound_columns_to_be_unique"}),
    warn("column_values_to_be_between", column="v", min_value=0, max_value=4),
    warn("column_values_to_match_regex", column="k", regex="a"),
    warn("column_mean_to_be_between", column="w", min_value=0, max_value=4),
    warn("column_unique_value_count_to_be_between", column="k", min_value=3, max_value=9),
]


def position(one: Any) -> int:
    return int(one.expectation_config.meta["position"])


def on_pandas(checks: Any) -> Any:
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    asset = context.data_sources.add_pandas("p").add_dataframe_asset("a")
    batch = asset.add_batch_definition_whole_dataframe("b").get_batch({"dataframe": FRAME.to_pandas()})
    found = batch.validate(to_gx(Suite("s", tuple(checks))), result_format="SUMMARY")
    results = sorted(found.results, key=position)
    return [(bool(one.success), one.to_json_dict()["result"]) for one in results]


def on_polars(checks: Any) -> Any:
    stream = Frames(FRAME.schema, [FRAME[:3], FRAME[3:4], FRAME[4:]])
    session = run(stream, Suite("s", tuple(checks)), values=True, nan_is_null=True)
    assert session.passes <= 1
    assert [outcome.error for outcome in session.outcomes] == [None] * len(checks)
    return [(outcome.success, outcome.result) for outcome in session.outcomes]


KEYS = (
    "element_count",
    "missing_count",
    "unexpected_count",
    "unexpected_percent",
    "unexpected_percent_nonmissing",
    "partial_unexpected_index_list",
    "partial_unexpected_list",
    "observed_value",
    "details",
)


def comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: comparable(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [comparable(member) for member in value]
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, 9)
    return value


def different(checks: Any) -> Any:
    pairs = zip(checks, on_polars(checks), on_pandas(checks), strict=True)
    for check, (success, ours), (expected, theirs) in pairs:
        keys = [k for k in KEYS if k in theirs and not (k == "partial_unexpected_list" and "unique" in check.type)]
        mine, wanted = ({k: comparable(r.get(k)) for k in keys} for r in (ours, theirs))
        if (success, mine) != (expected, wanted):
            yield check, (success, mine), (expected, wanted)


@pytest.mark.parametrize("checks", [ROWS, TABLE, AGGREGATES], ids=["rows", "table", "aggregates"])
def test_same_as_pandas(checks: Any) -> None:
    assert list(different(checks)) == []


@pytest.mark.parametrize("condition", CONDITIONS, ids=repr)
def test_same_as_pandas_under_a_row_condition(condition: Any) -> None:
    assert list(different(of(condition, *SOME))) == []
