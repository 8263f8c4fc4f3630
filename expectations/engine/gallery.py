"""Which expectations of Great Expectations this engine serves, as the page docs/expectations.md lists them."""

from __future__ import annotations

import inspect
from typing import Final

from great_expectations.expectations import core
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.util import camel_to_snake

from rollmill.expectations.engine.metrics.compiler import SERVED

_METRIC: Final = ".unexpected_count"
_NOTES: Final = {
    "expect_column_distinct_values_to_be_in_set": "up to 64 MiB of distinct values",
    "expect_column_distinct_values_to_contain_set": "up to 64 MiB of distinct values",
    "expect_column_distinct_values_to_equal_set": "up to 64 MiB of distinct values",
    "expect_column_most_common_value_to_be_in_set": "up to 64 MiB of distinct values",
    "expect_column_kl_divergence_to_be_less_than": "with a `partition_object`, or `bucketize_data` off",
    "expect_column_type_to_be": "names of Polars types",
    "expect_column_values_to_be_of_type": "names of Polars types; it judges the column, not each value",
    "expect_column_values_to_be_in_type_list": "names of Polars types; it judges the column, not each value",
    "expect_column_values_to_be_dateutil_parseable": "slow: Python, per distinct value of a batch",
    "expect_column_values_to_be_json_parseable": "slow: Python, per distinct value of a batch",
    "expect_column_values_to_match_json_schema": "slow: Python, per distinct value of a batch",
    "expect_column_values_to_match_strftime_format": "slow: Python, per distinct value of a batch",
    "expect_column_values_to_match_like_pattern": "case counts",
    "expect_column_values_to_match_like_pattern_list": "case counts",
    "expect_column_values_to_not_match_like_pattern": "case counts",
    "expect_column_values_to_not_match_like_pattern_list": "case counts",
    "expect_compound_columns_to_be_unique": "by 64-bit hashes",
    "expect_column_values_to_be_unique": "text by 64-bit hashes",
}
_OF_COLUMN_TYPES: Final = ("expect_column_values_to_be_of_type", "expect_column_values_to_be_in_type_list")
"""Row-level by their class, and answered here from the column's type."""

_REFUSED: Final = {
    "expect_multicolumn_values_to_be_unique": "Great Expectations itself gives it no metric; use compound columns",
    "expect_query_results_to_match_comparison": "needs SQL",
    "expect_table_row_count_to_equal_other_table": "there is one table, that of the stream",
    "unexpected_rows_expectation": "needs SQL",
}


def served() -> dict[str, str | None]:
    """Give the core expectations by name: None for one that is served, else why it is not."""
    kinds = [kind for kind in vars(core).values() if inspect.isclass(kind) and issubclass(kind, BatchExpectation)]
    return dict(sorted((camel_to_snake(kind.__name__), _refusal(kind)) for kind in kinds))


def _refusal(kind: type[BatchExpectation]) -> str | None:
    name = camel_to_snake(kind.__name__)
    if name in _REFUSED:
        return _REFUSED[name]
    if name in _OF_COLUMN_TYPES:
        return None
    needed = [*kind.metric_dependencies, *([f"{kind.map_metric}{_METRIC}"] if hasattr(kind, "map_metric") else [])]
    lacking = [metric for metric in needed if metric not in SERVED]
    return f"its metric {', '.join(lacking)} is not known" if lacking else None


def markdown_table() -> str:
    """Give the table of the core expectations."""
    lines = ["| expectation | served | |", "| --- | --- | --- |"]
    for name, why in served().items():
        lines.append(f"| `{name}` | {'yes' if why is None else 'no'} | {why or _NOTES.get(name, '')} |")
    return "\n".join(lines) + "\n"
