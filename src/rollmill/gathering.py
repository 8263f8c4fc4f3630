"""Whole rollouts out of rows that come in any order: gathered in buckets, on disk where they lie apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa

from rollmill.layouts.rollouts import finish, in_order

BUCKET_BYTES: Final = 64 << 20


class Gathering:
    """Takes normalized rows of a unit, and emits whole rollouts, finished, in order of first appearance.

    `order` lists the unit's rollouts in that order with their counts of rows (`scans.order_of`). Rollouts are put in
    buckets of about `BUCKET_BYTES`. If the rows of each lie together, a bucket is emitted as soon as the next one
    begins; else buckets are spilled to `folder` until the unit is read.
    """

    def __init__(
        self, order: pl.DataFrame, bytes_per_row: float, folder: Path, emit: Callable[[pa.Table], None]
    ) -> None:
        size = (order["rows"].cum_sum().shift(1, fill_value=0) * max(bytes_per_row, 1.0)).cast(pl.Int64)
        self._buckets = order.select(rollout_id=pl.col("rollout"), bucket=size // BUCKET_BYTES)
        self._folder = folder
        self._emit = emit
        self._apart = not bool(order["together"].all())
        self._pending: list[pa.Table] = []
        self._current = 0
        self._spilled: dict[int, pa.ipc.RecordBatchFileWriter] = {}

    def add(self, table: pa.Table) -> None:
        """Add rows."""
        ids = pl.DataFrame({"rollout_id": pl.Series(pl.from_arrow(table.column("rollout_id")))})
        buckets = ids.join(self._buckets, on="rollout_id", how="left", maintain_order="left")["bucket"]
        for bucket in buckets.unique(maintain_order=True).to_list():
            rows = table.filter(pa.array((buckets == bucket).to_numpy()))
            if self._apart:
                self._spill(bucket, rows)
                continue
            if bucket != self._current:
                self._flush()
                self._current = bucket
            self._pending.append(rows)

    def close(self) -> None:
        """Emit what is left."""
        self._flush()
        for bucket in sorted(self._spilled):
            self._spilled[bucket].close()
            with pa.OSFile(str(self._path(bucket))) as file:
                self._pending.append(pa.ipc.open_file(file).read_all())
                self._flush()
            self._path(bucket).unlink()

    def _flush(self) -> None:
        if self._pending:
            self._emit(finish(in_order(pa.concat_tables(self._pending))))
            self._pending = []

    def _spill(self, bucket: int, rows: pa.Table) -> None:
        if bucket not in self._spilled:
            self._spilled[bucket] = pa.ipc.new_file(str(self._path(bucket)), rows.schema)
        self._spilled[bucket].write_table(rows)

    def _path(self, bucket: int) -> Path:
        return self._folder / f"bucket-{bucket}.arrow"
