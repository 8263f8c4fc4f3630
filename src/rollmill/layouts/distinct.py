"""Equal values found once: contexts repeat the messages of the steps before, and tools are the same in every row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from rollmill.identity import cell_digests

Ints = npt.NDArray[np.int64]

t = pa.types


@dataclass(frozen=True)
class Distinct:
    """Values of an array that stand for all: `places` says which, `firsts` where each of them stands first."""

    places: Ints
    firsts: Ints

    def values(self, array: pa.Array[Any]) -> pa.Array[Any]:
        """Give the values that stand for all of the array's."""
        return array.take(pa.array(self.firsts, pa.int64()))


def distinct(array: pa.Array[Any]) -> Distinct:
    """Find values that are equal bit for bit."""
    _, firsts, places = np.unique(_numbers(array), return_index=True, return_inverse=True)
    return Distinct(places, firsts)


def distinct_cells(array: pa.Array[Any], known: Distinct | None = None) -> pl.Series:
    """Do what `cell_digests` does, hashing equal values once."""
    found = known or distinct(array)
    return cell_digests(found.values(array)).gather(found.places)


def _numbers(array: pa.Array[Any]) -> Ints:
    kind = array.type
    if array.null_count == len(array):
        return np.zeros(len(array), np.int64)
    if t.is_struct(kind):
        members = [_numbers(member) for member in array.flatten()]
        return reduce(_paired, members, _encoded(array.is_valid()))
    if t.is_list(kind):
        return _encoded(_as_binary(array))
    if t.is_floating(kind):
        return _encoded(array.view({16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[kind.bit_width]))
    if t.is_string(kind) or t.is_binary(kind) or t.is_integer(kind) or t.is_boolean(kind):
        return _encoded(array)
    return _encoded(cell_digests(array).to_arrow())


def _encoded(array: pa.Array[Any]) -> Ints:
    numbers: Ints = pc.dictionary_encode(array, null_encoding="encode").indices.to_numpy().astype(np.int64)
    return numbers


def _paired(a: Ints, b: Ints) -> Ints:
    """Number pairs of numbers."""
    width = int(b.max(initial=0)) + 1
    return a if width == 1 else _encoded(pa.array(a * width + b))


def _as_binary(lists: pa.Array[Any]) -> pa.Array[Any]:
    """Make each list the bytes of its values' numbers."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32) * 4
    data = _numbers(lists.flatten()).astype(np.int32)
    valid = pa.array(lists.is_valid().to_numpy(zero_copy_only=False).view(np.uint8)).cast(pa.bool_()).buffers()[1]
    return pa.Array.from_buffers(pa.binary(), len(lists), [valid, pa.py_buffer(offsets), pa.py_buffer(data)])
