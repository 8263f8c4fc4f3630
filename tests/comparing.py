"""Equality of Arrow data bit for bit: NaN equals NaN, -0.0 is not 0.0."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def exact(value: Any) -> Any:
    """Give a form that Python compares exactly."""
    if isinstance(value, float):
        return ("float", "nan") if value != value else ("float", value.hex())  # noqa: PLR0124
    if isinstance(value, dict):
        return {key: exact(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [exact(inner) for inner in value]
    return value


def rows_of(data: pa.Table | pa.RecordBatch) -> list[Any]:
    """Give the rows in that form; times stay integers."""
    plain = []
    for name, array in zip(data.schema.names, data.columns, strict=True):
        kind = array.type
        width = pa.int32() if pa.types.is_temporal(kind) and kind.bit_width == 32 else pa.int64()
        plain.append((name, exact((array.cast(width) if pa.types.is_temporal(kind) else array).to_pylist())))
    return plain
