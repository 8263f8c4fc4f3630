"""What a person sees of records that were put aside: counts, and some of them with their text, shortened."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, Final

import polars as pl
from rich.table import Table

from rollmill.aside import PLACE, Aside, counts
from rollmill.console import out

_MOST_COUNTS: Final = 40
_SHOWN_CHARS: Final = 160


def show_aside(aside: Aside, chosen: pl.DataFrame, limit: int) -> None:
    """Print counts by place and reason, and the first records with all of their reasons and columns."""
    counted = counts(chosen)
    out.print(f"{chosen.height:,} records put aside", highlight=False)
    if counted.height:
        out.print(_table(counted.sort("records", descending=True, maintain_order=True).head(_MOST_COUNTS)))
    if counted.height > _MOST_COUNTS:
        out.print(f"and {counted.height - _MOST_COUNTS} lines more (--json has all)", highlight=False)
    for record in first_records(aside, chosen, limit):
        out.print()
        for line in _lines(record):
            out.print(line, markup=False, highlight=False)
    if chosen.height > limit:
        out.print(f"\nand {chosen.height - limit:,} records more (--limit, or --out for all)", highlight=False)


def aside_json(aside: Aside, chosen: pl.DataFrame, limit: int) -> dict[str, Any]:
    """Give the same as JSON values, texts whole, bytes as hex."""
    shown = [_plain(record) for record in first_records(aside, chosen, limit)]
    return {"records": chosen.height, "counts": counts(chosen).to_dicts(), "shown": shown}


def first_records(aside: Aside, chosen: pl.DataFrame, limit: int) -> Iterator[dict[str, Any]]:
    """Read the first records, in the order of the index."""
    first = chosen.head(limit)
    places = {place: at for at, place in enumerate(first.select(*PLACE, "record").iter_rows())}
    found = [record for table in aside.records(first) for record in table.to_pylist()]
    yield from sorted(found, key=lambda record: places[*(record[name] for name in PLACE), record["source_row"]])


def _table(counted: pl.DataFrame) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in counted.columns:
        table.add_column(name, justify="right" if name == "records" else "left")
    for row in counted.iter_rows():
        table.add_row(*(f"{cell:,}" if isinstance(cell, int) else _safe(cell) for cell in row))
    return table


def _lines(record: dict[str, Any]) -> Iterator[str]:
    place = f"{record['source']}/{record['config']}/{record['split']}"
    yield f"{_safe(place)}  {_safe(record['file'])}  record {record['source_row']}: {', '.join(record['reasons'])}"
    if record["detail"]:
        yield f"    {_safe(record['detail'])}"
    cells = dict(record.get("row") or {})
    if record["raw"] is not None:
        cells["(bytes)"] = record["raw"].decode("utf-8", "backslashreplace")
    width = max((len(_safe(name)) for name in cells), default=0)
    for name, value in cells.items():
        yield f"    {_safe(name):{width}}  {_shortened(value)}"


def _shortened(value: Any) -> str:
    """Write a value as JSON, cut, with the number of characters it has."""
    whole = json.dumps(_plain(value), ensure_ascii=False)
    shown = _safe(whole[:_SHOWN_CHARS])
    return shown if len(whole) <= _SHOWN_CHARS else f"{shown}… ({len(whole):,} characters)"


def _safe(text: str) -> str:
    """Escape what a terminal might obey: control characters, and those that turn the direction of text."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _plain(value: Any) -> Any:
    """Give a value as JSON has it."""
    if isinstance(value, dict):
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if isinstance(value, bytes):
        return value.hex()
    if value is None or isinstance(value, bool | int | str):
        return value
    return value if isinstance(value, float) and math.isfinite(value) else str(value)
