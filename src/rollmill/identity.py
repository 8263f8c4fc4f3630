"""Identifiers: SHA-256 over length-delimited, type-tagged fields, computed column-wise.

An id is 32 hex characters of the digest, a source row hash all 64. None depends on a URI, revision, path, unit,
worker or library version. Every long text is hashed once (`text_digest`); all else combines short strings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, cast

import polars as pl
import polars_hash  # noqa: F401  (registers the .chash namespace)
import pyarrow as pa
import pyarrow.compute as pc

ID_LENGTH = 32
_NULL = "n"


def _sha256(expression: pl.Expr) -> pl.Expr:
    return cast("pl.Expr", expression.chash.sha2_256())  # type: ignore[attr-defined]


def text_digest(texts: pl.Series) -> pl.Series:
    """Hash UTF-8 texts: 64 hex characters each, null for null."""
    return texts.to_frame("text").select(_sha256(pl.col("text"))).to_series()


def _constant(value: str | int | None) -> str:
    if value is None:
        return _NULL
    text = str(value)
    return f"{'i' if isinstance(value, int) else 's'}{len(text.encode())}:{text}"


def _field(expression: pl.Expr, kind: pl.DataType) -> pl.Expr:
    tag = "i" if kind.is_integer() else "s"
    text = expression.cast(pl.String)
    return pl.format(tag + "{}:{}", text.str.len_bytes(), text).fill_null(_NULL)


def combined_id(domain: str, *fields: str | int | pl.Series | None, length: int = ID_LENGTH) -> pl.Series:
    """Hash a tuple of fields row by row, under a domain that keeps ids of different meaning apart.

    Fields are constants or Series of short strings or integers of one length; null differs from every value.
    Returns a String series of `length` hex characters, never null; of length 1 if all fields are constants.
    """
    columns = {f"f{i}": f for i, f in enumerate(fields) if isinstance(f, pl.Series)}
    frame = pl.DataFrame(columns) if columns else pl.DataFrame({"one": [0]})
    parts = [pl.lit(f"rollmill/{domain}/1|")]
    for i, f in enumerate(fields):
        parts.append(_field(pl.col(f"f{i}"), f.dtype) if isinstance(f, pl.Series) else pl.lit(_constant(f)))
    digest = _sha256(pl.concat_str(parts)).str.slice(0, length)
    return frame.select(digest.alias("id")).to_series()


def logical_type(field: pa.Field, json_text_key: bytes = b"rollmill.json") -> str:
    """Name a field's logical type: large, view and dictionary forms count as plain ones, JSON text as `json`."""
    if field.metadata and json_text_key in field.metadata:
        return "json"
    return _logical(field.type)


def _logical(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return _logical(kind.value_type)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "string"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return "binary"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return f"list<{_logical(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return "struct<" + ",".join(f"{len(f.name)}:{f.name}:{_logical(f.type)}" for f in kind) + ">"
    return str(kind)


def source_row_hash(
    batch: pa.RecordBatch,
    texts: Mapping[str, pl.Series] | None = None,
    known_cells: Mapping[str, pl.Series] | None = None,
) -> pl.Series:
    """Hash whole source rows: names, logical types and values, the order of the columns aside.

    -0.0, NaN, null, "" and [] all differ; NaNs are one class. `texts` gives the `text_digest` of columns where it is
    known already, so that no text is hashed twice, `known_cells` likewise the `cell_digests`. Returns 64 hex
    characters per row, never null.
    """
    fields = sorted(batch.schema, key=lambda field: field.name)
    names = "|".join(f"{len(f.name.encode())}:{f.name}={logical_type(f)}" for f in fields)
    head = hashlib.sha256(f"rollmill/source_row/1|{names}".encode()).hexdigest()
    known = {name: _tagged("s", digests) for name, digests in (texts or {}).items()} | dict(known_cells or {})
    cells = {
        f"c{i}": known[f.name] if f.name in known else cell_digests(batch.column(f.name)) for i, f in enumerate(fields)
    }
    frame = pl.DataFrame(cells) if cells else pl.DataFrame({"c0": [None] * batch.num_rows}, schema={"c0": pl.String})
    row = pl.concat_str([pl.lit(head), *(pl.col(c).fill_null(_NULL) for c in frame.columns)], separator=";")
    return frame.select(_sha256(row).alias("source_row_hash")).to_series()


def cell_digests(array: pa.Array[Any]) -> pl.Series:
    """Encode each cell as a short tagged string without `;`, null for null."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return cell_digests(array.dictionary_decode())
    if pa.types.is_map(kind):
        entries = pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"])
        return cell_digests(pa.ListArray.from_arrays(array.offsets, entries, mask=array.is_null()))
    if pa.types.is_struct(kind):
        return _struct_cells(cast("pa.StructArray", array))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return list_cells(array)
    if pa.types.is_null(kind):
        return pl.Series([None] * len(array), dtype=pl.String)
    if pa.types.is_floating(kind):
        return _tagged("f", _float_bits(array))
    if pa.types.is_decimal(kind):
        return _tagged("d", pl.Series(pl.from_arrow(array.cast(pa.string()))))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _tagged("s", text_digest(pl.Series(pl.from_arrow(array))))
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return _tagged("b", _binary_digest(array))
    return _tagged("i", _integers(array))


def _tagged(tag: str, values: pl.Series) -> pl.Series:
    return values.to_frame("v").select(pl.format(tag + "{}", pl.col("v"))).to_series()


def _float_bits(array: pa.Array[Any]) -> pl.Series:
    nan = pa.scalar(float("nan"), array.type)
    canonical = pc.if_else(pc.is_nan(array), nan, array)
    bits = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[array.type.bit_width]
    return pl.Series(pl.from_arrow(canonical.view(bits)))


def _binary_digest(array: pa.Array[Any]) -> pl.Series:
    return text_digest(pl.Series(pl.from_arrow(array.cast(pa.large_binary()))).bin.encode("hex"))


def _integers(array: pa.Array[Any]) -> pl.Series:
    kind = array.type
    if pa.types.is_boolean(kind):
        array = array.cast(pa.int8())
    elif pa.types.is_temporal(kind):
        array = array.cast(pa.int32() if kind.bit_width == 32 else pa.int64())  # noqa: PLR2004
    return pl.Series(pl.from_arrow(array))


def _struct_cells(array: pa.StructArray) -> pl.Series:
    children = [cell_digests(array.field(i)).alias(f"c{i}") for i in range(array.type.num_fields)]
    valid = pl.Series("valid", pl.from_arrow(array.is_valid()))
    text = pl.concat_str([pl.col(c.name).fill_null(_NULL) for c in children] or [pl.lit("")], separator=";")
    cell = pl.when(pl.col("valid")).then(pl.format("t{}", _sha256(text)))
    return pl.DataFrame([valid, *children]).select(cell.alias("cell")).to_series()


def list_cells(array: pa.Array[Any], values: pl.Series | None = None) -> pl.Series:
    """Encode each list; `values` gives the `cell_digests` of its flattened values where they are known already."""
    wide = array.cast(pa.large_list(array.type.value_type))
    cells = (cell_digests(wide.flatten()) if values is None else values).fill_null(_NULL).to_arrow()
    lengths = pc.fill_null(pc.list_value_length(wide), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(lengths)])
    lists = pl.Series("items", pl.from_arrow(pa.LargeListArray.from_arrays(offsets, cells)))
    valid = pl.Series("valid", pl.from_arrow(array.is_valid()))
    joined = pl.format("l{}:{}", pl.col("items").list.len(), _sha256(pl.col("items").list.join(";")))
    cell = pl.when(pl.col("valid")).then(joined)
    return pl.DataFrame([valid, lists]).select(cell.alias("cell")).to_series()
