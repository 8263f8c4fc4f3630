"""Columns: features that the card and the footers declare, against the columns of the files."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa

from rollmill.declared.comparison import Comparison, Declarer, Verdict
from rollmill.declared.features import Features, card_features, footer_features
from rollmill.declared.held import PARQUET, Held, prefix
from rollmill.identity import logical_type
from rollmill.sources.card import infos

_ORDER = "features.order"
_KINDS = (pa.types.is_boolean, pa.types.is_string, lambda kind: pa.types.is_integer(kind) or pa.types.is_floating(kind))


def compare_columns(held: Held) -> Iterator[Comparison]:
    """Compare the card's features with the columns of every config, and each footer's with those of its file."""
    for config, info in infos(held.snapshot.card).items():
        features = card_features(info.get("features"))
        if features is not None and held.reads(config):
            yield from _compare_config(held, config, features)
    yield from _compare_footers(held)


def _compare_config(held: Held, config: str, features: Features) -> Iterator[Comparison]:
    schemas = {place: schema for place, schema in held.plan.schemas.items() if place[0] == config and len(schema)}
    card, before = Declarer(held.snapshot.name), prefix(config)
    if not schemas:
        return
    columns = dict.fromkeys(name for schema in schemas.values() for name in schema.names)
    yield card.compare(f"{before}features", len(features), len(columns), "columns")
    for name in dict.fromkeys([*features, *columns]):
        found = [
            _compare_column(card, f"{before}features.{name}", features, name, schema, exact=held.is_parquet(place))
            for place, schema in schemas.items()
        ]
        yield next((comparison for comparison in found if comparison.drifts), found[0])
    yield from _compare_order(card, before, features, next(iter(schemas.values())))


def _compare_column(
    declarer: Declarer, field: str, features: Features, name: str, schema: pa.Schema, *, exact: bool
) -> Comparison:
    """Compare a column's type. It is `exact` unless we chose it ourselves, reading a text format."""
    if name not in schema.names:
        kind = features[name]
        return declarer.compare(field, None if kind is None else str(kind), None, "type", "missing")
    there = schema.field(name)
    held = logical_type(there) if logical_type(there) == "json" else str(there.type)
    if name not in features:
        return declarer.compare(field, None, held, "type")
    kind = features[name]
    if kind is None:
        return declarer.compare(field, None, held, "type", "unchecked")
    return declarer.compare(field, str(kind), held, "type", _type_verdict(kind, there, exact=exact))


def _type_verdict(declared: pa.DataType, there: pa.Field, *, exact: bool) -> Verdict:
    if exact:
        return "equal" if same_type(declared, there.type) else "differs"
    if logical_type(there) == "json" or pa.types.is_null(there.type):
        return "unchecked"
    of = [next((i for i, is_kind in enumerate(_KINDS) if is_kind(kind)), None) for kind in (declared, there.type)]
    if None in of:
        return "unchecked"
    if of[0] != of[1]:
        return "differs"
    return "equal" if declared == there.type else "close"


def same_type(a: pa.DataType, b: pa.DataType) -> bool:
    """Whether two logical types hold the same; the order of a struct's members and nullability have no say."""
    if pa.types.is_list(a) and pa.types.is_list(b):
        return same_type(a.value_type, b.value_type)
    if pa.types.is_struct(a) and pa.types.is_struct(b):
        members = {field.name: field.type for field in a}
        return members.keys() == {field.name for field in b} and all(same_type(members[f.name], f.type) for f in b)
    return bool(a.equals(b))


def _compare_order(card: Declarer, before: str, features: Features, schema: pa.Schema) -> Iterator[Comparison]:
    declared, there = list(features), schema.names
    if set(declared) == set(there):
        differing = [i for i, name in enumerate(declared) if name != there[i]]
        at = differing[0] if differing else 0
        yield card.compare(f"{before}{_ORDER}", declared[at], there[at], f"column {at}")


def _compare_footers(held: Held) -> Iterator[Comparison]:
    for file in held.snapshot.files:
        look = held.look(file)
        features = _footer(look.note) if look.format == PARQUET else None
        if features is None:
            continue
        footer = Declarer(held.snapshot.name, file.path)
        yield footer.compare("features", len(features), len(look.schema), "columns")
        for name in dict.fromkeys([*features, *look.schema.names]):
            compared = _compare_column(footer, f"features.{name}", features, name, look.schema, exact=True)
            if compared.drifts:
                yield compared


def _footer(note: str | None) -> Features | None:
    try:
        value = json.loads(note or "null")
    except (ValueError, RecursionError):
        return None
    info = value.get("info") if isinstance(value, dict) else None
    return footer_features(info.get("features")) if isinstance(info, dict) else None
