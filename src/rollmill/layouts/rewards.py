"""A plain reward column of any numeric form -> reward, and back."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

_EXACT: Final = 2**53
_NUMBER: Final = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_NOT_FINITE: Final = r"^[+-]?(?i:nan|inf|infinity)$"


class FiniteReward(NamedTuple):
    """Rewards as float64, null where not finite; the originals to keep (None for none); which were not finite."""

    values: pa.Array[Any]
    originals: pa.Array[Any] | None
    lost: pl.Series | None


def to_finite_reward(array: pa.Array[Any]) -> FiniteReward:
    """Give rewards that are finite; `lost` is None where all are."""
    numbers, original = to_reward(array)
    lost = pc.fill_null(pc.invert(pc.is_finite(numbers)), fill_value=False)
    if not pc.any(lost).as_py():
        return FiniteReward(numbers, original, None)
    kept = original if original is not None else pc.if_else(lost, array, pa.scalar(None, array.type))
    finite = pc.if_else(lost, pa.scalar(None, pa.float64()), numbers)
    return FiniteReward(finite, kept, pl.Series("lost", pl.from_arrow(lost)))


def to_reward(array: pa.Array[Any]) -> tuple[pa.Array[Any], pa.Array[Any] | None]:
    """Give rewards as float64, and the originals where the numbers alone would not bring them back (else None).

    Text is read as a number, JSON quotes and spaces aside, and null if it is none. Integers beyond 2^53 keep their
    original.
    """
    kind = array.type
    if pa.types.is_string(kind):
        return _numbers_of(array), array
    if pa.types.is_boolean(kind):
        return array.cast(pa.int8()).cast(pa.float64()), None
    if pa.types.is_integer(kind):
        large = pc.greater(pc.abs_checked(array.cast(pa.decimal128(20, 0))), pa.scalar(_EXACT, pa.decimal128(20, 0)))
        kept = pc.if_else(large, array, pa.scalar(None, kind)) if pc.any(large).as_py() else None
        return array.cast(pa.float64(), safe=False), kept
    if pa.types.is_decimal(kind):
        return array.cast(pa.float64()), array
    return array.cast(pa.float64()), None


def _numbers_of(texts: pa.Array[Any]) -> pa.Array[Any]:
    """Read texts as numbers: NaN for words that stand for no finite one, null for other text."""
    plain = pc.utf8_trim_whitespace(pc.utf8_trim(texts, '"'))
    words = pc.replace_substring_regex(pc.replace_substring_regex(plain, "^true$", "1"), "^false$", "0")
    nothing = pa.scalar(None, pa.string())
    others = pc.if_else(pc.match_substring_regex(words, _NOT_FINITE), pa.scalar("nan"), nothing)
    return pc.if_else(pc.match_substring_regex(words, _NUMBER), words, others).cast(pa.float64())


def from_reward(rewards: pa.Array[Any], originals: pa.Array[Any], kind: pa.DataType) -> pa.Array[Any]:
    """Undo `to_reward`: the original where one was kept, else the number in the source's type."""
    if pa.types.is_string(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return originals
    if pa.types.is_boolean(kind):
        return pc.coalesce(originals, pc.not_equal(rewards, 0.0))
    small = pc.if_else(originals.is_valid(), pa.scalar(0.0), rewards)
    return pc.coalesce(originals, small.cast(kind, safe=False))
