import sys
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

from rollmill.errors import ConfigError
from rollmill.expectations import suite_digest, suite_for
from rollmill.expectations.suites.answers import BLANK, NUMBER_TEXT
from rollmill.formats.records import JSON_TEXT_KEY


def with_reward(kind: Any, metadata: Any = None) -> Any:
    text = pa.string()
    return pa.schema(
        [pa.field("prompt", text), pa.field("response", text), pa.field("reward", kind, metadata=metadata)]
    )


def reasons(schema: Any) -> Any:
    return [check.reason for check in suite_for("prompt_response", schema).checks if check.severity == "critical"]


def test_unknown_layout() -> None:
    with pytest.raises(ConfigError, match="no suite for the layout 'nonsense'"):
        suite_for("nonsense", pa.schema({}))


@pytest.mark.parametrize(
    ("kind", "metadata", "expected"),
    [
        (pa.float64(), None, ["reward_not_finite", "reward_missing"]),
        (pa.int32(), None, ["reward_missing"]),
        (pa.bool_(), None, ["reward_missing"]),
        (pa.null(), None, ["reward_missing"]),
        (pa.string(), None, ["reward_not_finite", "reward_missing", "reward_not_a_number"]),
        (
            pa.large_string(),
            {JSON_TEXT_KEY: b"1"},
            ["reward_not_finite", "reward_missing", "reward_missing", "reward_shape", "reward_not_a_number"],
        ),
        (pa.list_(pa.float64()), None, ["reward_missing", "reward_shape"]),
        (pa.timestamp("us"), None, ["reward_missing", "reward_not_a_number"]),
    ],
)
def test_the_type_of_the_reward_decides_its_checks(kind: Any, metadata: Any, expected: Any) -> None:
    assert reasons(with_reward(kind, metadata)) == ["empty_response", "empty_response", *expected]


def test_no_reward_no_reward_checks() -> None:
    assert reasons(pa.schema({"response": pa.string()})) == ["empty_response", "empty_response"]


def test_digest_is_stable() -> None:
    assert (
        suite_digest(suite_for("prompt_response", with_reward(pa.float64())))
        == "5e704bf59f76e7deaa93c80167be6efe66ca6a917a1387af1c6be3105d4c8643"
    )


def test_blank_is_what_strip_leaves_nothing_of() -> None:
    characters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    matched = pl.Series(characters).str.contains(BLANK)
    assert [c for c, blank in zip(characters, matched, strict=True) if blank] == [c for c in characters if c.isspace()]
    assert pl.Series(["", " \n\u3000", " a ", "\n\n.", "a\n"]).str.contains(BLANK).to_list() == [
        True,
        True,
        False,
        False,
        False,
    ]


@given(st.one_of(st.floats().map(repr), st.integers().map(str), st.text("0123456789+-.eEinfa ", max_size=6)))
def test_number_text_is_what_float_reads(text: Any) -> None:
    try:
        number = float(text)
    except ValueError:
        number = None
    assert pl.Series([text]).str.contains(NUMBER_TEXT).item() == (number is not None)
