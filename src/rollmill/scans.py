"""Scans: which rollouts a file holds and where, by its key columns.

Layouts whose rollouts span rows need them: a unit holds whole rollouts. Readers have no projection yet, so a scan
decodes all columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from rollmill import formats
from rollmill.formats.records import Inspection
from rollmill.keys import READER_VERSION, SCAN_VERSION, digest_of
from rollmill.layouts import Origin, RolloutLayout
from rollmill.layouts.numbers import to_text
from rollmill.reading import DigestOf, verify_unchanged
from rollmill.shards import ShardWriter
from rollmill.snapshot import SourceFile
from rollmill.store import FolderStore, Manifest

STAGE = "scan"
_ROLLOUTS = "rollouts"
_SCHEMA = pa.schema(
    [
        pa.field("rollout", pa.string(), nullable=False),
        pa.field("first", pa.int64(), nullable=False),
        pa.field("last", pa.int64(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
    ]
)


_MOST_VALUES: Final = 1000

Values = Mapping[str, frozenset[str]]
"""The values of columns, as text; of columns with at most `_MOST_VALUES` of them."""


class ColumnValues:
    """Gathers the values of columns, as text (see `to_text`); none of a column that has too many to list."""

    def __init__(self, names: Sequence[str]) -> None:
        self._values: dict[str, set[str]] = {name: set() for name in names}

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a batch's values; nulls are none."""
        for name, values in self._values.items():
            at = batch.schema.get_field_index(name)
            if at >= 0 and len(values) <= _MOST_VALUES:
                values.update(to_text(batch.column(at)).cast(pl.String).drop_nulls().unique().to_list())

    def facts(self) -> dict[str, list[str]]:
        """Give the values of each column, sorted."""
        return {name: sorted(values) for name, values in self._values.items() if len(values) <= _MOST_VALUES}


def values_of(scans: Sequence[Manifest]) -> Values:
    """Put together the values of all files; columns that have too many in one of them are left out."""
    listed = [scan.facts["values"] for scan in scans]
    names = {name for values in listed for name in values if all(name in other for other in listed)}
    return {name: frozenset(value for values in listed for value in values[name]) for name in names}


ScanPlace = tuple[str, str, str]
"""A file's digest, config and split."""


def scan_place(file: SourceFile) -> ScanPlace:
    """Say which scan is a file's."""
    return (file.sha256, file.config, file.split)


def scan_key(data_source: str, file: SourceFile, layout: RolloutLayout, options: Mapping[str, str]) -> str:
    """Key of a file's scan: its bytes, and what its rollout ids depend on."""
    return digest_of(
        {
            "stage": STAGE,
            "version": SCAN_VERSION,
            "reader": READER_VERSION,
            "sha256": file.sha256,
            "data_source": data_source,
            "config": file.config,
            "split": file.split,
            "layout": layout.tag,
            "options": dict(options),
        }
    )


def scan_file(
    data_source: str,
    file: SourceFile,
    layout: RolloutLayout,
    options: Mapping[str, str],
    look: Inspection,
    store: FolderStore,
    digest: DigestOf,
) -> tuple[Manifest, int]:
    """Scan a file, or find it scanned. Gives the artifact, and the bytes read for it."""
    key = scan_key(data_source, file, layout, options)
    known = store.get(STAGE, key)
    if known is not None:
        return known, 0
    reader = formats.read(file.local, file.path, look)
    origin = Origin(data_source, file.config, file.split, file.sha256, file.ordinal)
    frames = []
    values = ColumnValues(layout.counted_columns)
    for records in reader:
        values.add(records.data)
        ids = layout.rollout_ids(records.data, origin, options)
        frames.append(pl.DataFrame({"rollout": ids, "row": pl.Series(pl.from_arrow(records.rows))}))
    verify_unchanged(file, digest)
    with store.scratch() as folder:
        writer = ShardWriter(folder / _ROLLOUTS, _SCHEMA)
        writer.write(_spans(frames))
        payload = writer.close(_ROLLOUTS)
        manifest = Manifest(STAGE, key, (payload,), facts={"values": values.facts()})
        stands = store.put(manifest, {_ROLLOUTS: folder / _ROLLOUTS})
    return stands, reader.bytes_read


def _spans(frames: Sequence[pl.DataFrame]) -> pa.Table:
    rows = pl.concat(frames) if frames else pl.DataFrame(schema={"rollout": pl.String, "row": pl.Int64})
    spans = rows.group_by("rollout", maintain_order=True).agg(
        pl.col("row").min().alias("first"), pl.col("row").max().alias("last"), pl.len().cast(pl.Int64).alias("rows")
    )
    return spans.to_arrow().cast(_SCHEMA)


def load_scan(store: FolderStore, manifest: Manifest) -> pl.DataFrame:
    """Read a scan: per rollout of the file its first and last record number and its count of rows."""
    payload = manifest.payload(_ROLLOUTS)
    assert payload is not None  # noqa: S101  (a scan has one payload, and `get` saw it)
    return pl.DataFrame(pl.from_arrow(pq.read_table(store.object_path(payload.sha256))))


def cut_points(scans: Sequence[tuple[int, pl.DataFrame]]) -> list[int]:
    """Give the positions at which a split may be cut without parting a rollout.

    `scans` holds per file of the split, in order, the position of its first record in the split and its scan. A
    position is that of the first record of a rollout that no other rollout reaches across.
    """
    whole = _whole(scans)
    reached = whole["last"].cum_max().shift(1, fill_value=-1)
    return whole.filter(whole["first"] > reached)["first"].to_list()


def order_of(scans: Sequence[tuple[int, pl.DataFrame]]) -> pl.DataFrame:
    """Give the rollouts of files in order of first appearance, with their counts of rows and if they are together."""
    return _whole(scans).with_columns(together=pl.col("last") - pl.col("first") + 1 == pl.col("rows"))


def _whole(scans: Sequence[tuple[int, pl.DataFrame]]) -> pl.DataFrame:
    """Join what files have of a rollout: first and last position, and rows."""
    shifted = [scan.select("rollout", pl.col("first", "last") + offset, "rows") for offset, scan in scans]
    ends = (pl.col("first").min(), pl.col("last").max(), pl.col("rows").sum())
    return pl.concat(shifted).group_by("rollout").agg(*ends).sort("first")
