"""Random source tables, with the values that get lost elsewhere."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pyarrow as pa

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["", " ", "\ufeff", "null", "{}", '"quoted"', "a\r\nb", "<think>x", "<|im_start|>user\n", "2021-03-04", "\x00"]
)
_FLOATS = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([-0.0, 5e-324, 1e308])
_NESTED = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.struct([("c", pa.string()), ("d", pa.float32())])))])

CELLS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.string(): TEXT,
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.int8(): st.integers(-128, 127),
    pa.float64(): _FLOATS,
    pa.float32(): st.floats(width=32),
    pa.bool_(): st.booleans(),
    pa.binary(): st.binary(max_size=6),
    pa.date32(): st.dates(),
    pa.timestamp("us", "UTC"): st.integers(-(2**50), 2**50),
    pa.timestamp("ns"): st.integers(-(2**62), 2**62),
    pa.duration("ms"): st.integers(-(2**40), 2**40),
    pa.decimal128(12, 3): st.decimals(-999_999, 999_999, places=3, allow_nan=False),
    pa.list_(pa.string()): st.lists(st.none() | TEXT, max_size=3),
    pa.list_(pa.list_(pa.int32())): st.lists(
        st.none() | st.lists(st.none() | st.integers(-9, 9), max_size=2), max_size=3
    ),
    _NESTED: st.fixed_dictionaries(
        {
            "a": st.none() | st.integers(-5, 5),
            "b": st.none()
            | st.lists(
                st.none() | st.fixed_dictionaries({"c": st.none() | TEXT, "d": st.none() | st.floats(width=32)}),
                max_size=2,
            ),
        }
    ),
}
REWARDS = (pa.float64(), pa.float32(), pa.int64(), pa.uint64(), pa.bool_(), pa.decimal128(12, 3))


def column(kind: pa.DataType, rows: int) -> st.SearchStrategy[pa.Array]:
    """A column of a type, nulls among its values."""
    return st.lists(st.none() | CELLS[kind], min_size=rows, max_size=rows).map(lambda values: pa.array(values, kind))


@st.composite
def prompt_response_batches(draw: st.DrawFn, *, reward: bool = True) -> pa.RecordBatch:
    """Rows of the layout prompt_response, columns in any order, with extra columns of any type."""
    rows = draw(st.integers(1, 5))
    columns = {name: draw(column(pa.string(), rows)) for name in ("prompt", "response")}
    if reward and draw(st.booleans()):
        columns["reward"] = draw(column(draw(st.sampled_from(REWARDS)), rows))
    for i, kind in enumerate(draw(st.lists(st.sampled_from(list(CELLS)), max_size=4))):
        columns[draw(st.sampled_from([f"extra{i}", f'odd "{i}"', f"$float{i}", f"é {i}"]))] = draw(column(kind, rows))
    names = draw(st.permutations(list(columns)))
    return pa.RecordBatch.from_arrays([columns[name] for name in names], names)
