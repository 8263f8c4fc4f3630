"""What of a source row fits no column: JSON text per row, and back to typed values, bit for bit.

Values JSON has no form for are objects with one `$type` key: {"$float": "nan"}, {"$binary": base64},
{"$decimal": text}, {"$timestamp": integer}. The source's Arrow type, kept in the manifest, decides how text is
read back, so integers, times and float widths survive. Nulls are left out: an absent key is null.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from rollmill.formats.records import JSON_TEXT_KEY

EMPTY = "{}"
_NEEDS_WRAP = r"\$json|NaN|Infinity"


def encode_extras(columns: Mapping[str, tuple[pa.Field, pa.Array[Any]]], length: int) -> pl.Series:
    """Render columns as one JSON object per row, keys in the order given, nulls left out. Never null."""
    if not columns:
        return pl.Series("extra_json", [EMPTY], dtype=pl.String).new_from_index(0, length)
    fragments = []
    for i, (name, (field, array)) in enumerate(columns.items()):
        key = json.dumps(name, ensure_ascii=False) + ":"
        cells = _encode_cells(field, array).alias(f"c{i}")
        fragments.append(cells.to_frame().select(pl.lit(key) + pl.col(cells.name)).to_series().alias(f"c{i}"))
    body = pl.concat_str([pl.col(f.name) for f in fragments], separator=",", ignore_nulls=True)
    return pl.DataFrame(fragments).select(pl.format("{{{}}}", body).alias("extra_json")).to_series()


def decode_extras(texts: pa.Array[Any], fields: Mapping[str, pa.Field]) -> dict[str, pa.Array[Any]]:
    """Read columns back from extra_json texts; a key that a row lacks is null."""
    if pc.all(pc.equal(texts, EMPTY)).as_py() is not False:
        return {name: pa.nulls(len(texts), field.type) for name, field in fields.items()}
    rows = [json.loads(text) for text in texts.to_pylist()]
    decoded = {}
    for name, field in fields.items():
        convert = _text_of_json if _is_json_text(field) else _decoder(field.type)
        values = [None if row.get(name) is None else convert(row[name]) for row in rows]
        decoded[name] = _array(values, field.type)
    return decoded


def _is_json_text(field: pa.Field) -> bool:
    return bool(field.metadata) and JSON_TEXT_KEY in field.metadata


def _encode_cells(field: pa.Field, array: pa.Array[Any]) -> pl.Series:
    kind = field.type
    if _is_json_text(field):
        return _wrapped_json(pl.Series(pl.from_arrow(array)))
    if pa.types.is_null(kind):
        return pl.Series([None] * len(array), dtype=pl.String)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return pl.Series(pl.from_arrow(array)).cast(pl.String)
    if pa.types.is_string(kind):
        return _json_of(pl.Series(pl.from_arrow(array)))
    if pa.types.is_floating(kind) and kind.bit_width > 16:  # noqa: PLR2004
        return _float_cells(array)
    encode = _encoder(kind)
    texts = [
        None if not v.is_valid else json.dumps(encode(v), ensure_ascii=False, separators=(",", ":")) for v in array
    ]
    return pl.Series(texts, dtype=pl.String)


def _json_of(values: pl.Series) -> pl.Series:
    """JSON text of each value by way of a one-field struct, whose frame is cut off."""
    text = pl.struct(pl.col("v").alias("")).struct.json_encode()
    cell = text.str.strip_prefix('{"":').str.head(-1)
    return values.alias("v").to_frame().select(pl.when(pl.col("v").is_not_null()).then(cell)).to_series()


def _wrapped_json(values: pl.Series) -> pl.Series:
    """JSON text stands as it is, unless other JSON readers would choke on it or take it for a tag."""
    wrapped = pl.lit('{"$json":') + pl.Series("w", _json_of(values)) + pl.lit("}")
    return (
        values.alias("v")
        .to_frame()
        .select(pl.when(pl.col("v").str.contains(_NEEDS_WRAP)).then(wrapped).otherwise(pl.col("v")))
        .to_series()
    )


def _text_of_json(value: Any) -> str:
    if isinstance(value, dict) and value.keys() == {"$json"}:
        return str(value["$json"])
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _float_cells(array: pa.Array[Any]) -> pl.Series:
    values = pl.Series("v", pl.from_arrow(array.cast(pa.float64())))
    tag = pl.format(
        '{{"$float":"{}"}}',
        pl.when(pl.col("v").is_nan())
        .then(pl.lit("nan"))
        .otherwise(pl.when(pl.col("v") > 0).then(pl.lit("inf")).otherwise(pl.lit("-inf"))),
    )
    finite = pl.col("v").is_finite() | pl.col("v").is_null()
    plain = pl.Series("p", _json_of(values))
    return values.to_frame().select(pl.when(finite).then(plain).otherwise(tag)).to_series()


def _encoder(kind: pa.DataType) -> Callable[[Any], Any]:
    """Give the function from an Arrow scalar of a type to a JSON value."""
    if pa.types.is_struct(kind):
        members = [(f.name, _encoder(f.type)) for f in kind]
        return lambda s: {name: encode(s[i]) if s[i].is_valid else None for i, (name, encode) in enumerate(members)}
    if pa.types.is_map(kind):
        item = _encoder(pa.list_(pa.struct([pa.field("key", kind.key_type), pa.field("value", kind.item_type)])))
        return lambda s: item(
            pa.scalar(
                [{"key": k, "value": v} for k, v in s.as_py()],
                type=pa.list_(pa.struct([pa.field("key", kind.key_type), pa.field("value", kind.item_type)])),
            )
        )
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        inner = _encoder(kind.value_type)
        return lambda s: [inner(v) if v.is_valid else None for v in s.values]
    if pa.types.is_floating(kind):
        return lambda s: _float_json(float(s.as_py()))
    if pa.types.is_temporal(kind):
        return lambda s: {
            f"${_temporal_name(kind)}": s.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).as_py()  # noqa: PLR2004
        }
    if pa.types.is_decimal(kind):
        return lambda s: {"$decimal": str(s.as_py())}
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return lambda s: {"$binary": base64.b64encode(s.as_py()).decode()}
    return lambda s: s.as_py()


def _temporal_name(kind: pa.DataType) -> str:
    return str(kind).split("[", 1)[0].rstrip("0123456789")


def _float_json(value: float) -> Any:
    if value != value:  # noqa: PLR0124
        return {"$float": "nan"}
    return {"$float": "inf" if value > 0 else "-inf"} if value in (float("inf"), float("-inf")) else value


def _decoder(kind: pa.DataType) -> Callable[[Any], Any]:
    """Give the function from a JSON value to what pa.array takes for a type."""
    if pa.types.is_struct(kind):
        members = {f.name: _decoder(f.type) for f in kind}
        return lambda v: {n: None if v.get(n) is None else decode(v[n]) for n, decode in members.items()}
    if pa.types.is_map(kind):
        key, item = _decoder(kind.key_type), _decoder(kind.item_type)
        return lambda v: [(key(p["key"]), None if p["value"] is None else item(p["value"])) for p in v]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        inner = _decoder(kind.value_type)
        return lambda v: [None if x is None else inner(x) for x in v]
    if pa.types.is_floating(kind):
        return lambda v: float(v["$float"]) if isinstance(v, dict) else float(v)
    if pa.types.is_decimal(kind):
        return lambda v: Decimal(v["$decimal"])
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return lambda v: base64.b64decode(v["$binary"])
    if pa.types.is_temporal(kind):
        return lambda v: next(iter(v.values()))
    return lambda v: v


def _array(values: list[Any], kind: pa.DataType) -> pa.Array[Any]:
    if pa.types.is_float16(kind):
        return pa.array(values, pa.float32()).cast(kind)
    return pa.array(values, kind)
