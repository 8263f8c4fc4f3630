"""Every expectation that both engines serve, in the ways they are used."""

from __future__ import annotations

from typing import Any, Final

from rollmill.expectations import Check

SCHEMA: Final = {"type": "object", "properties": {"x": {"type": "number"}}}
PAIR_RULES: Final = ("both_values_are_missing", "either_value_is_missing", "neither")
ANY_PAIR: Final = ("both_values_are_missing",)
MANY_RULES: Final = ("all_values_are_missing", "any_value_is_missing", "never")


def warn(expectation: str, **kwargs: Any) -> Check:
    return Check(f"expect_{expectation}", kwargs, severity="warning")


def each(expectation: str, columns: str, **kwargs: Any) -> list[Check]:
    return [warn(expectation, column=column, **kwargs) for column in columns.split()]


VALUES: Final = [
    *each("column_values_to_not_be_null", "k t j g v w b d nothing"),
    *each("column_values_to_be_null", "k g v d nothing"),
    *each("column_values_to_be_unique", "k g v w b d nothing"),
    *each("column_values_to_be_between", "v nothing", min_value=0, max_value=4),
    *each("column_values_to_be_between", "v w", min_value=0, strict_min=True),
    *each("column_values_to_be_between", "v", max_value=5, strict_max=True),
    *each("column_values_to_be_between", "d", min_value="2024-01-02", max_value="2024-01-09", strict_max=True),
    *each("column_values_to_be_between", "g", min_value=2, mostly=0.5),
    *each("column_values_to_be_between", "g", min_value=2, mostly=0.9),
    *each("column_values_to_be_in_set", "k", value_set=["a", "b"]),
    *each("column_values_to_be_in_set", "k v g", value_set=["a", 1, 2.0]),
    *each("column_values_to_be_in_set", "g nothing", value_set=[1, 2], mostly=0.5),
    *each("column_values_to_be_in_set", "b", value_set=[True]),
    *each("column_values_to_be_in_set", "k", value_set=[]),
    *each("column_values_to_not_be_in_set", "k", value_set=["", "b"]),
    *each("column_values_to_not_be_in_set", "v g", value_set=[0.0, 3.0]),
    *each("column_values_to_not_be_in_set", "d", value_set=["2024-01-02"]),
    *each("column_values_to_be_increasing", "g i v d"),
    *each("column_values_to_be_increasing", "g i v d", strictly=True),
    *each("column_values_to_be_decreasing", "g i v"),
    *each("column_values_to_be_decreasing", "i", strictly=True),
    *each("column_value_z_scores_to_be_less_than", "x g v w nothing", threshold=2, double_sided=True),
    *each("column_value_z_scores_to_be_less_than", "x", threshold=-1, double_sided=False),
    *each("column_values_to_not_be_outliers", "x g v w nothing"),
    *each("column_values_to_not_be_outliers", "x w g nothing", method="std", multiplier=2),
]
TEXTS: Final = [
    *each("column_value_lengths_to_be_between", "k", min_value=1, max_value=2),
    *each("column_value_lengths_to_be_between", "k", min_value=1, strict_min=True, mostly=0.5),
    *each("column_value_lengths_to_equal", "k", value=1),
    *each("column_values_to_match_regex", "k", regex="^[ab]$"),
    *each("column_values_to_match_regex", "k", regex=r"(?=a)\w", mostly=0.3),
    *each("column_values_to_not_match_regex", "k", regex=r"^\s*$"),
    *each("column_values_to_not_match_regex", "t", regex=r"(\d)\1"),
    *each("column_values_to_match_regex_list", "k", regex_list=["a", "^$"]),
    *each("column_values_to_match_regex_list", "k", regex_list=["b", " (?!x)"], match_on="all"),
    *each("column_values_to_not_match_regex_list", "k", regex_list=["a", "€"]),
    *each("column_values_to_match_strftime_format", "t", strftime_format="%Y-%m-%d"),
    *each("column_values_to_be_dateutil_parseable", "t"),
    *each("column_values_to_be_json_parseable", "j k"),
]
PAIRS: Final = [
    *(
        warn(f"column_pair_values_{what}", column_A=a, column_B=b, ignore_row_if=rule, **kwargs)
        for what, kwargs in (
            ("to_be_equal", {}),
            ("a_to_be_greater_than_b", {}),
            ("a_to_be_greater_than_b", {"or_equal": True, "mostly": 0.5}),
        )
        for a, b, rules in (
            ("v", "w", PAIR_RULES),
            ("g", "i", ANY_PAIR),
            ("k", "t", ANY_PAIR),
            ("v", "nothing", ANY_PAIR),
        )
        for rule in rules
    ),
    *(
        warn("column_pair_values_to_be_in_set", column_A="k", column_B="g", value_pairs_set=pairs, ignore_row_if=rule)
        for pairs, rules in (([["a", 1], [None, 2]], PAIR_RULES), ([], ANY_PAIR))
        for rule in rules
    ),
    *(
        warn(what, column_list=columns, ignore_row_if=rule, **kwargs)
        for what, kwargs, domains in (
            ("compound_columns_to_be_unique", {}, (["v", "w"], ["k", "g"], ["g", "b"])),
            ("multicolumn_sum_to_equal", {"sum_total": 3}, (["v", "w"], ["g", "i"])),
            ("multicolumn_values_to_be_equal", {"mostly": 0.3}, (["v", "w"], ["g", "i"], ["k", "t"])),
            ("select_column_values_to_be_unique_within_record", {}, (["v", "w", "x"], ["g", "i"], ["k", "v"])),
        )
        for columns in domains
        for rule in (MANY_RULES if columns[:2] == ["v", "w"] else ["never"])
    ),
]
AGGREGATES: Final = [
    *(
        check
        for what in ("min", "max", "mean", "stdev", "sum", "median")
        for check in each(f"column_{what}_to_be_between", "w g x nothing", min_value=0, max_value=4)
    ),
    *each("column_max_to_be_between", "d", min_value="2024-01-01T00:00:00", max_value="2024-01-10T00:00:00"),
    *each(
        "column_quantile_values_to_be_between",
        "w g x",
        quantile_ranges={"quantiles": [0.05, 0.5, 0.9], "value_ranges": [[0, 1], [0, 2], [None, 4]]},
    ),
    *each("column_unique_value_count_to_be_between", "k g v b d", min_value=3, max_value=9),
    *each("column_proportion_of_unique_values_to_be_between", "k g w", min_value=0.7),
    *each("column_proportion_of_non_null_values_to_be_between", "k g w nothing", min_value=0.7),
    *each("column_distinct_values_to_be_in_set", "k", value_set=["a", "b", "zz"]),
    *each("column_distinct_values_to_be_in_set", "g v", value_set=[1, 2, 3.0]),
    *each("column_distinct_values_to_be_in_set", "d", value_set=["2024-01-01", "2024-01-09"]),
    *each("column_distinct_values_to_equal_set", "k", value_set=["a", "b"]),
    *each("column_distinct_values_to_equal_set", "g b", value_set=[1, 2, 3]),
    *each("column_distinct_values_to_contain_set", "k", value_set=["a", "zz", 5]),
    *each("column_distinct_values_to_contain_set", "g", value_set=[1, 2]),
    *each("column_most_common_value_to_be_in_set", "k", value_set=["a"]),
    *each("column_most_common_value_to_be_in_set", "g w", value_set=[1, 4.0], ties_okay=True),
    *each("column_kl_divergence_to_be_less_than", "g", partition_object={"values": [1, 2], "weights": [0.5, 0.5]}),
    *each(
        "column_kl_divergence_to_be_less_than",
        "g",
        partition_object={"values": [1, 2, 3], "weights": [0.4, 0.4, 0.2]},
        threshold=0.5,
    ),
    *each(
        "column_kl_divergence_to_be_less_than",
        "w x",
        partition_object={"bins": [0, 1, 2, 5], "weights": [0.5, 0.3, 0.2]},
        threshold=0.5,
        tail_weight_holdout=0.1,
    ),
]
TABLE: Final = [
    warn("table_row_count_to_equal", value=8),
    warn("table_row_count_to_be_between", min_value=9),
    warn("table_to_have_rows"),
    warn("table_columns_to_match_set", column_set=["k", "g"], exact_match=False),
    warn("table_columns_to_match_set", column_set=["k", "nope"]),
    warn("table_columns_to_match_ordered_list", column_list=["k", "t"]),
    warn("table_column_count_to_equal", value=11),
    warn("table_column_count_to_be_between", max_value=3),
    warn("column_to_exist", column="k"),
    warn("column_to_exist", column="zz"),
]
CHECKS: Final = [*VALUES, *TEXTS, *PAIRS, *AGGREGATES, *TABLE]
