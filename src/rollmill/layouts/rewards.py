"""A plain reward column of any numeric form -> reward, and back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_EXACT = 2**53


def to_reward(array: pa.Array[Any]) -> tuple[pa.Array[Any], pa.Array[Any] | None]:
    """Give rewards as float64, and the originals where the numbers alone would not bring them back (else None).

    Text is read as a number, JSON quotes and spaces aside; the suite has put other text aside before. Integers beyond
    2^53 keep their original.
    """
    kind = array.type
    if pa.types.is_string(kind):
        plain = pc.utf8_trim_whitespace(pc.utf8_trim(array, '"'))
        words = pc.replace_substring_regex(plain, "^true$", "1")
        return pc.replace_substring_regex(words, "^false$", "0").cast(pa.float64()), array
    if pa.types.is_boolean(kind):
        return array.cast(pa.int8()).cast(pa.float64()), None
    if pa.types.is_integer(kind):
        large = pc.greater(pc.abs_checked(array.cast(pa.decimal128(20, 0))), pa.scalar(_EXACT, pa.decimal128(20, 0)))
        kept = pc.if_else(large, array, pa.scalar(None, kind)) if pc.any(large).as_py() else None
        return array.cast(pa.float64(), safe=False), kept
    if pa.types.is_decimal(kind):
        return array.cast(pa.float64()), array
    return array.cast(pa.float64()), None


def from_reward(rewards: pa.Array[Any], originals: pa.Array[Any], kind: pa.DataType) -> pa.Array[Any]:
    """Undo `to_reward`: the original where one was kept, else the number in the source's type."""
    if pa.types.is_string(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return originals
    if pa.types.is_boolean(kind):
        return pc.coalesce(originals, pc.not_equal(rewards, 0.0))
    small = pc.if_else(originals.is_valid(), pa.scalar(0.0), rewards)
    return pc.coalesce(originals, small.cast(kind, safe=False))
