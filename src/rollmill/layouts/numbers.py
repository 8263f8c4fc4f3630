"""Numbers of sources -> columns of the unified schema, with what is needed to bring them back bit for bit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from rollmill.identity import cell_digests
from rollmill.layouts.rewards import from_reward, to_reward


class Floats(NamedTuple):
    """Values as finite float64, the originals they do not bring back (else None), and which were not finite."""

    values: pa.Array[Any]
    originals: pa.Array[Any] | None
    lost: pa.Array[Any]


def to_floats(source: pa.Array[Any], hide: pa.Array[Any] | None = None) -> Floats:
    """Read numbers or booleans; what is not finite, or hidden, becomes null, its original kept. Others are all kept."""
    if not _is_number(source.type):
        nothing = pa.nulls(len(source), pa.float64())
        return Floats(nothing, source, pa.repeat(pa.scalar(False), len(source)))  # noqa: FBT003
    numbers, originals = to_reward(source)
    lost = pc.fill_null(pc.invert(pc.is_finite(numbers)), fill_value=False)
    gone = lost if hide is None else pc.or_(lost, hide)
    if pc.any(gone).as_py():
        kept = pc.if_else(gone, source, pa.scalar(None, source.type))
        originals = kept if originals is None else pc.coalesce(originals, kept)
        numbers = pc.if_else(gone, pa.scalar(None, pa.float64()), numbers)
    return Floats(numbers, originals, lost)


def from_floats(values: pa.Array[Any], originals: pa.Array[Any]) -> pa.Array[Any]:
    """Undo `to_floats`."""
    return from_reward(values, originals, originals.type) if _is_number(originals.type) else originals


def to_integers(source: pa.Array[Any], kind: pa.DataType) -> tuple[pa.Array[Any], pa.Array[Any] | None]:
    """Read whole numbers of any numeric type; null where one does not fit `kind`, the original kept (else None)."""
    if not (pa.types.is_integer(source.type) or pa.types.is_floating(source.type)):
        return pa.nulls(len(source), kind), source
    given = pl.Series("given", pl.from_arrow(source))
    whole = given.cast(pl.Int32 if kind == pa.int32() else pl.Int64, strict=False)
    same = whole.cast(given.dtype, strict=False) == given
    if given.dtype.is_float():
        same &= ~(pl.Series(np.signbit(given.to_numpy())) & (given == 0))
    fits = (same.fill_null(value=False) | given.is_null()).to_arrow()
    values = pc.if_else(fits, whole.to_arrow(), pa.scalar(None, kind))
    return values, None if pc.all(fits, min_count=0).as_py() else pc.if_else(fits, pa.scalar(None, source.type), source)


def from_integers(values: pa.Array[Any], originals: pa.Array[Any]) -> pa.Array[Any]:
    """Undo `to_integers`."""
    kind = originals.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return originals
    known = pc.if_else(originals.is_valid(), pa.scalar(None, values.type), values)
    return pc.coalesce(originals, known.cast(kind, safe=False))


def to_text(source: pa.Array[Any]) -> pl.Series:
    """Name each value: text as it is, a whole number in decimal whatever its type, anything else by its digest."""
    if pa.types.is_string(source.type):
        return pl.Series(pl.from_arrow(source))
    if pa.types.is_integer(source.type):
        return pl.Series(pl.from_arrow(source)).cast(pl.String)
    if pa.types.is_floating(source.type):
        values, others = to_integers(source, pa.int64())
        names = pl.Series(pl.from_arrow(values)).cast(pl.String)
        return names if others is None else names.zip_with(names.is_not_null(), cell_digests(others))
    return cell_digests(source)


def from_text(names: pa.Array[Any], originals: pa.Array[Any]) -> pa.Array[Any]:
    """Undo `to_text` for text and integers; of other types originals are needed."""
    kind = originals.type
    return names.cast(kind) if pa.types.is_string(kind) or pa.types.is_integer(kind) else originals


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
    )
