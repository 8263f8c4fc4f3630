"""Splits, records and sizes: the card's `dataset_info` against the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rollmill.declared.comparison import Comparison, Declarer, Verdict
from rollmill.declared.held import Held, prefix
from rollmill.sources.card import declared_size, declared_splits, infos

_CLOSE: Final = 0.05
_CELL_BYTES: Final = 5
"""A cell's offset and null bit, which one Arrow table has and another of the same values has not."""

ARROW: Final = "bytes as Arrow"

Splits = Mapping[str, Mapping[str, int]]


def compare_splits(held: Held) -> Iterator[Comparison]:
    """Compare each config: its splits by name and number, their records and bytes, and the bytes of all files."""
    card = held.snapshot.card
    declared = {config: declared_splits(card, config) for config in infos(card) if held.reads(config)}
    if not any(declared.values()):
        return
    observed = list(dict.fromkeys(config for config, _ in held.rows))
    for config in [*observed, *(config for config in declared if config not in observed)]:
        splits = {name: facts for name, facts in declared.get(config, {}).items() if held.reads(config, name)}
        rows = {split: rows for (of, split), rows in held.rows.items() if of == config}
        if splits or rows:
            yield from _compare_config(held, config, splits, rows)
        if rows and held.reads_all_splits:
            yield from _compare_total(held, config)


def _compare_config(held: Held, config: str, splits: Splits, rows: Mapping[str, int]) -> Iterator[Comparison]:
    card, before = Declarer(held.snapshot.name), prefix(config)
    if splits and rows:
        for name, facts in splits.items():
            if name not in rows:
                yield card.compare(f"{before}{name}.num_examples", facts.get("num_examples"), None, "records")
                continue
            if "num_examples" in facts:
                yield card.compare(f"{before}{name}.num_examples", facts["num_examples"], rows[name], "records")
            if "num_bytes" in facts:
                size = _arrow_bytes(held, config, name)
                yield _compare_bytes(held, f"{before}{name}.num_bytes", facts["num_bytes"], size, rows[name])
        for name in (name for name in rows if name not in splits):
            yield card.compare(f"{before}{name}.num_examples", None, rows[name], "records")
    yield card.compare(f"{before}splits", len(splits) or None, len(rows) or None, "splits")


def _compare_total(held: Held, config: str) -> Iterator[Comparison]:
    card, before = held.snapshot.card, prefix(config)
    places = [place for place in held.files if place[0] == config]
    if (size := declared_size(card, config, "dataset_size")) is not None:
        sizes = [_arrow_bytes(held, *place) for place in places]
        known = [size for size in sizes if size is not None]
        total = sum(known) if len(known) == len(sizes) else None
        yield _compare_bytes(held, f"{before}dataset_size", size, total, sum(held.rows[place] for place in places))
    if (size := declared_size(card, config, "download_size")) is not None:
        total = sum(file.size for place in places for file in held.files[place])
        yield Declarer(held.snapshot.name).compare(f"{before}download_size", size, total, "bytes on disk")


def _compare_bytes(held: Held, field: str, declared: int, observed: int | None, rows: int) -> Comparison:
    card = Declarer(held.snapshot.name)
    if observed is None:
        return card.compare(field, declared, None, ARROW, "unchecked")
    columns = max(len(schema) for schema in held.plan.schemas.values())
    allowed = _CLOSE * declared + _CELL_BYTES * rows * columns
    verdict: Verdict = "close" if abs(declared - observed) <= allowed else "differs"
    return card.compare(field, declared, observed, ARROW, "equal" if declared == observed else verdict)


def _arrow_bytes(held: Held, config: str, split: str) -> int | None:
    place = (config, split)
    if not held.is_parquet(place):
        return None
    return held.arrow_bytes.get(place) if held.rows[place] else 0
