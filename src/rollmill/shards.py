"""Writing parquet so that equal rows give equal bytes, however they came in batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rollmill.store import HashingSink, Payload

WRITER_PROFILE: Final = 2
"""Goes up when a change here changes bytes."""

ROW_GROUP_BYTES: Final = 16 << 20
ROW_GROUP_ROWS: Final = 65_536
_ROW_OVERHEAD: Final = 512
_ITEM_OVERHEAD: Final = 8
_UNIQUE_TEXTS: Final = frozenset(
    {"row_id", "rollout_id", "prompt_id", "context_id", "content_id", "group_id", "source_row_hash", "extra_json"}
)


class ShardWriter:
    """Writes tables of one schema to one parquet file.

    A row group closes before the row that would take it above `ROW_GROUP_BYTES` of text or `ROW_GROUP_ROWS` rows, and
    only where `boundary` (a column) changes value, so that a rollout never crosses one. No row group is empty.
    """

    def __init__(self, path: Path, schema: pa.Schema, *, boundary: str | None = None) -> None:
        self._schema = schema
        self._boundary = boundary
        self._sink = HashingSink(path)
        self._writer = pq.ParquetWriter(
            pa.PythonFile(self._sink, mode="w"),
            schema,
            compression="zstd",
            compression_level=3,
            use_dictionary=_dictionary_columns(schema),
            write_page_index=True,
            store_schema=True,
        )
        self._pending: list[pa.Table] = []
        self._sizes: list[np.ndarray[Any, Any]] = []
        self._last_key: str | None = None
        self._waiting_bytes = 0
        self.rows = 0

    def write(self, table: pa.Table) -> None:
        """Add rows."""
        if table.num_rows == 0:
            return
        self._pending.append(table)
        sizes = row_bytes(table)
        self._sizes.append(sizes)
        self._waiting_bytes += int(sizes.sum())
        self.rows += table.num_rows
        if self._waiting_bytes > ROW_GROUP_BYTES or sum(map(len, self._sizes)) > ROW_GROUP_ROWS:
            self._flush(final=False)

    def _flush(self, *, final: bool) -> None:
        table = self._combined()
        sizes = np.concatenate(self._sizes)
        cuts = row_group_cuts(sizes, self._boundaries(table))
        ends = [*cuts, len(sizes)] if final else cuts
        start = 0
        for end in ends:
            self._writer.write_table(table.slice(start, end - start), row_group_size=end - start)
            start = end
        self._pending, self._sizes = [table.slice(start)], [sizes[start:]]
        self._waiting_bytes = int(sizes[start:].sum())

    def _combined(self) -> pa.Table:
        """Give what waits as one chunk, as bytes depend on chunks; column by column, freeing what is done."""
        waiting = [
            [chunk for table in self._pending for chunk in table.column(name).chunks] for name in self._schema.names
        ]
        self._pending = []
        columns = []
        while waiting:
            columns.append(pa.concat_arrays(waiting.pop(0)))
        return pa.Table.from_arrays(columns, schema=self._schema)

    def _boundaries(self, table: pa.Table) -> np.ndarray[Any, Any]:
        """Mark the rows at which a row group may start."""
        if self._boundary is None:
            return np.ones(table.num_rows, dtype=bool)
        keys = table.column(self._boundary).combine_chunks()
        starts = np.ones(table.num_rows, dtype=bool)
        starts[1:] = pa.compute.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False)
        return starts

    def close(self, name: str) -> Payload:
        """Write what is left and describe the file as a payload."""
        if self._pending and sum(map(len, self._sizes)):
            self._flush(final=True)
        self._writer.close()
        self._sink.close()
        pa.default_memory_pool().release_unused()
        return Payload(name, self._sink.sha256, self._sink.bytes, self.rows)


def row_group_cuts(sizes: np.ndarray[Any, Any], starts: np.ndarray[Any, Any]) -> list[int]:
    """Choose where row groups end, greedily from the first row; the rows after the last cut are not yet a group."""
    cumulative = np.cumsum(sizes)
    allowed = np.flatnonzero(starts)
    cuts: list[int] = []
    start, base = 0, 0
    while True:
        limit = min(int(np.searchsorted(cumulative, base + ROW_GROUP_BYTES, side="right")), start + ROW_GROUP_ROWS)
        if limit >= len(sizes):
            return cuts
        at = int(np.searchsorted(allowed, limit, side="right")) - 1
        end = int(allowed[at])
        if end <= start:
            later = int(np.searchsorted(allowed, start, side="right"))
            if later >= len(allowed):
                return cuts
            end = int(allowed[later])
        cuts.append(end)
        start, base = end, int(cumulative[end - 1])


def row_bytes(table: pa.Table) -> np.ndarray[Any, Any]:
    """Estimate the bytes of each row from the lengths of its texts and lists; a function of the row alone."""
    total = np.full(table.num_rows, _ROW_OVERHEAD, dtype=np.int64)
    for column in table.columns:
        sizes = np.concatenate([_text_bytes(chunk) for chunk in column.chunks]) if column.num_chunks else None
        if sizes is not None:
            total += sizes
    return total


def _text_bytes(array: Any) -> np.ndarray[Any, Any]:
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _nonnull(pa.compute.binary_length(array))
    if pa.types.is_struct(kind):
        total = np.zeros(len(array), dtype=np.int64)
        for child in array.flatten():
            if child.null_count < len(child):
                total += _text_bytes(child)
        return total
    if pa.types.is_map(kind):
        return _text_bytes(array.cast(pa.list_(pa.struct([kind.key_field, kind.item_field]))))
    if pa.types.is_list(kind):
        inner = np.concatenate([[0], np.cumsum(_text_bytes(array.flatten()) + _ITEM_OVERHEAD)])
        ends = np.cumsum(_nonnull(pa.compute.list_value_length(array)))
        return np.asarray(np.diff(inner[np.concatenate([[0], ends])]), dtype=np.int64)
    return np.zeros(len(array), dtype=np.int64)


def _nonnull(lengths: Any) -> np.ndarray[Any, Any]:
    return np.asarray(pa.compute.fill_null(lengths, 0).to_numpy(zero_copy_only=False), dtype=np.int64)


def _dictionary_columns(schema: pa.Schema) -> list[str]:
    """Top-level text columns of few values; long texts and ids gain nothing from a dictionary."""
    return [f.name for f in schema if pa.types.is_string(f.type) and f.name not in _UNIQUE_TEXTS]
