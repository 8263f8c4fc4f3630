"""Data files to Arrow batches with explicit types, whatever their format: `inspect` once, then `read`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rollmill.formats import jsonl, parquet
from rollmill.formats.endings import DATA_ENDINGS, FORMATS_READ, UNREAD_ENDINGS, Ending, split_ending
from rollmill.formats.inspections import from_json, to_json
from rollmill.formats.records import JSON_TEXT_KEY, Inspection, Reader, Records, Reject, RowGroup
from rollmill.formats.sniff import Sniffed, sniff

__all__ = [
    "DATA_ENDINGS",
    "FORMATS_READ",
    "JSON_TEXT_KEY",
    "UNREAD_ENDINGS",
    "Ending",
    "Inspection",
    "Reader",
    "Records",
    "Reject",
    "RowGroup",
    "Sniffed",
    "from_json",
    "inspect",
    "read",
    "sniff",
    "split_ending",
    "to_json",
]


def inspect(path: Path, name: str) -> Inspection:
    """Read what is needed to know a file: the footer of a parquet file, all of a JSON lines file.

    `name` is the path as the source lists it, used in messages. Counts of what was found and does no harm:
    surrogates_replaced, bom_stripped, format_by_content (1 when the name's ending promises another format).
    Raises FileRefusedError with what is wrong and what to do.
    """
    sniffed = sniff(path, name)
    if sniffed.format == "parquet":
        found = parquet.inspect(path, name)
    else:
        found = jsonl.inspect(path, name, sniffed.compression)
    return found if sniffed.as_named else replace(found, counts={**found.counts, "format_by_content": 1})


def read(
    path: Path,
    name: str,
    inspection: Inspection,
    start: int = 0,
    stop: int | None = None,
    *,
    batch_bytes: int = 32 << 20,
) -> Reader:
    """Give a reader of the row groups [start, stop) of an inspected file, in batches of about `batch_bytes` at most.

    Every record of the range comes once, in order: in a batch's data or among its rejects. Iterating raises
    FileRefusedError when the file can't be read or is another than the one inspected.
    """
    first, last, _ = slice(start, stop).indices(len(inspection.groups))
    if inspection.format == "parquet":
        return parquet.ParquetReader(path, name, inspection, first, last, batch_bytes=batch_bytes)
    if first >= last:
        return _NothingReader()
    return jsonl.JsonlReader(path, name, inspection, batch_bytes)


class _NothingReader:
    """A reader of no row group."""

    bytes_read = 0

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(())
