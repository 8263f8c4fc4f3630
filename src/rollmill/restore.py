"""Restore: the source rows of a published version, same columns, types, values and order."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from rollmill.errors import AccessError, ConfigError, StoreError
from rollmill.identity import source_row_hash
from rollmill.layouts import Layout, RolloutLayout, layout_named
from rollmill.layouts.rollouts import expand
from rollmill.promotion import conform, promoted_schema
from rollmill.publish import FolderDestination, SourceEntry, VersionManifest
from rollmill.store import FolderStore

_MOST_ROWS: Final = 1 << 40
"""More records than a file has."""


@dataclass(frozen=True)
class _File:
    """A source file of the version: which rows are its own, and how they are typed."""

    digest: str
    ordinal: int
    path: str
    schema: pa.Schema
    quarantine: tuple[str, ...]


@dataclass
class Restored:
    """What was written. `unreadable` lists (source path, row, reason) of records that are no rows."""

    rows: int = 0
    unreadable: list[tuple[str, int, str]] = field(default_factory=list)


def restore(
    destination: FolderDestination,
    out: Path,
    *,
    source: str,
    config: str | None = None,
    split: str | None = None,
    store: FolderStore | None = None,
) -> Restored:
    """Write the rows of a source, in source order, to one parquet file, each checked against its source_row_hash.

    With a store, rows that were put aside come back too. Raises ConfigError for a source, config or split that the
    version does not have, AccessError if the version or a file is missing, StoreError if a row is not what it was.
    """
    version = destination.read_manifest()
    entry = _entry(version, source)
    places = _places(entry, config, split)
    schema = promoted_schema((f.path, f.schema) for place in places for f in places[place] if len(f.schema))
    result = Restored()
    partial = out.with_name(out.name + ".partial")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with pq.ParquetWriter(partial, schema, compression="zstd") as writer:
            for place, files in places.items():
                parquet = [
                    destination.data_path(f) for f in version.files if (f.source, f.config, f.split) == (source, *place)
                ]
                restorer = _SplitRestorer(files, schema, layout_named(entry.layout.split("@")[0]), store, result)
                for table in restorer.tables(parquet):
                    writer.write_table(table)
                    result.rows += table.num_rows
        partial.replace(out)
    except OSError as error:
        raise AccessError(f"Restoring to {out} failed: {error}") from error
    finally:
        with suppress(OSError):
            partial.unlink()
    return result


def _entry(version: VersionManifest, source: str) -> SourceEntry:
    for entry in version.sources:
        if entry.name == source:
            return entry
    names = ", ".join(entry.name for entry in version.sources)
    raise ConfigError(f"The dataset has no source {source!r}. Its sources: {names}.")


def _places(entry: SourceEntry, config: str | None, split: str | None) -> dict[tuple[str, str], list[_File]]:
    """Group the files asked for by config and split, all in source order."""
    listed = sorted(
        ((digest, place) for digest, of in entry.files.items() for place in of), key=lambda pair: pair[1]["index"]
    )
    places: dict[tuple[str, str], list[_File]] = {}
    for digest, place in listed:
        if config not in (None, place["config"]) or split not in (None, place["split"]):
            continue
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(place["schema"])))
        file = _File(digest, place["ordinal"], place["path"], schema, tuple(place["quarantine"]))
        places.setdefault((place["config"], place["split"]), []).append(file)
    if not places:
        there = ", ".join(sorted({f"{p['config']}/{p['split']}" for of in entry.files.values() for p in of}))
        raise ConfigError(f"Source {entry.name} has no split {split!r} in config {config!r}. It has: {there}.")
    return places


class _SplitRestorer:
    """Walks over the published rows of one split and over its source files at once."""

    def __init__(
        self, files: Sequence[_File], schema: pa.Schema, layout: Layout, store: FolderStore | None, result: Restored
    ) -> None:
        self._files = files
        self._schema = schema
        self._layout = layout
        self._store = store
        self._result = result
        self._at = 0
        self._last_row = -1

    def tables(self, parquet: Sequence[Path]) -> Iterator[pa.Table]:
        """Give the split's rows in order, in the schema of all that is restored."""
        for path in parquet:
            for rows in self._in_source_order(path):
                for segment in _segments(rows):
                    yield from self._advance(segment)
                    yield self._restored(segment)
        while self._at < len(self._files):
            yield from self._finish_file()

    def _in_source_order(self, path: Path) -> Iterator[pa.Table]:
        """Give the rows of a data file in source order, contexts in full.

        Rollouts whose rows lie apart in the source stand together in the file: then it is sorted as a whole.
        """
        if not isinstance(self._layout, RolloutLayout):
            yield from _row_groups(path)
            return
        ends = [np.sort(self._places(keys))[[0, -1]] for keys in _row_groups(path, ["source_digest", "source_row"])]
        if all(last < first for (_, last), (first, _) in pairwise(ends)):
            yield from (self._sorted(expand(rows)) for rows in _row_groups(path))
        else:
            yield self._sorted(pa.concat_tables(expand(rows) for rows in _row_groups(path)))

    def _places(self, rows: pa.Table) -> np.ndarray[Any, Any]:
        """Number rows in source order: by file, then by row."""
        files = {file.digest: i for i, file in reversed(list(enumerate(self._files)))}
        digests = pl.Series(pl.from_arrow(rows.column("source_digest")))
        of_file = digests.replace_strict(files, default=len(files), return_dtype=pl.Int64).to_numpy()
        return np.asarray(of_file * _MOST_ROWS + rows.column("source_row").to_numpy(), dtype=np.int64)

    def _sorted(self, rows: pa.Table) -> pa.Table:
        places = self._places(rows)
        return rows if (np.diff(places) > 0).all() else rows.take(pa.array(np.argsort(places, kind="stable")))

    def _advance(self, segment: pa.Table) -> Iterator[pa.Table]:
        """Move on to the file that the segment's rows come from."""
        digest, first = segment.column("source_digest")[0].as_py(), segment.column("source_row")[0].as_py()
        while self._files[self._at].digest != digest or first <= self._last_row:
            yield from self._finish_file()
            if self._at == len(self._files):
                raise StoreError(f"The version holds rows of a file it does not list (sha256 {digest}).")

    def _finish_file(self) -> Iterator[pa.Table]:
        file = self._files[self._at]
        rest, _ = self._aside(file, self._last_row, None)
        if rest.num_rows:
            yield rest
        self._at, self._last_row = self._at + 1, -1

    def _restored(self, segment: pa.Table) -> pa.Table:
        file = self._files[self._at]
        table = self._layout.restore(segment, file.schema)
        self._check(table, segment, file)
        rows = segment.column("source_row").to_numpy()
        aside, aside_rows = self._aside(file, self._last_row, int(rows[-1]))
        self._last_row = int(rows[-1])
        table = conform(table, self._schema, file=file.path)
        if not aside.num_rows:
            return table
        both = pa.concat_tables([table, aside])
        return both.take(pa.array(np.argsort(np.concatenate([rows, aside_rows]), kind="stable")))

    def _check(self, table: pa.Table, segment: pa.Table, file: _File) -> None:
        batches = table.combine_chunks().to_batches()
        hashes = pl.concat([source_row_hash(batch) for batch in batches])
        stored = pl.Series(pl.from_arrow(segment.column("source_row_hash")))
        if not (hashes == stored).all():
            raise StoreError(f"A row of {file.path} does not match its source_row_hash. Nothing was written.")

    def _aside(self, file: _File, after: int, until: int | None) -> tuple[pa.Table, np.ndarray[Any, Any]]:
        """Give the rows of a file that were put aside, after one row number and up to another."""
        tables, numbers = [], []
        for digest in file.quarantine if self._store else ():
            held = _held(self._store, digest, file, after, until)  # type: ignore[arg-type]
            table, kept = self._readable(held, file)
            tables.append(table)
            numbers.append(kept)
        if not tables:
            return self._schema.empty_table(), np.array([], dtype=np.int64)
        return pa.concat_tables(tables), np.concatenate(numbers)

    def _readable(self, held: pa.Table, file: _File) -> tuple[pa.Table, np.ndarray[Any, Any]]:
        tables, numbers = [], []
        for record in held.select(["source_row", "reason", "raw", "raw_kind"]).to_pylist():
            if record["raw_kind"] == "arrow_ipc":
                row = pa.ipc.open_stream(record["raw"]).read_all()
                tables.append(conform(row, self._schema, file=file.path))
                numbers.append([record["source_row"]])
            elif record["raw_kind"] == "line":
                self._result.unreadable.append((file.path, record["source_row"], record["reason"]))
        if "row" in held.column_names:
            whole = held.filter(pa.compute.is_null(held.column("raw_kind")))
            struct = whole.column("row").combine_chunks()
            struct = struct if isinstance(struct, pa.StructArray) else pa.concat_arrays(struct.chunks)
            rows = pa.Table.from_arrays(struct.flatten(), schema=_struct_schema(struct))
            tables.append(conform(rows, self._schema, file=file.path))
            numbers.append(whole.column("source_row").to_pylist())
        if not tables:
            return self._schema.empty_table(), np.array([], dtype=np.int64)
        places = np.concatenate([np.array(n, dtype=np.int64) for n in numbers])
        order = np.argsort(places)
        return pa.concat_tables(tables).take(pa.array(order)), places[order]


def _struct_schema(struct: pa.StructArray) -> pa.Schema:
    return pa.schema(list(struct.type))


def _held(store: FolderStore, digest: str, file: _File, after: int, until: int | None) -> pa.Table:
    path = store.object_path(digest)
    if not path.exists():
        raise AccessError(
            f"Rows of {file.path} that were put aside are not in the store {store.root}. Name the store the dataset "
            "was made with by --store."
        )
    row = pa.compute.field("source_row")
    mine = (pa.compute.field("source_digest") == file.digest) & (pa.compute.field("source_ordinal") == file.ordinal)
    mine &= (row > after) if until is None else (row > after) & (row <= until)
    return pq.read_table(path, filters=mine)


def _row_groups(path: Path, columns: list[str] | None = None) -> Iterator[pa.Table]:
    try:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group, columns=columns)
    except FileNotFoundError as error:
        raise AccessError(f"The data file {path} is missing from the dataset.", file=str(path)) from error
    except pa.ArrowException as error:
        raise StoreError(f"The data file {path} is damaged ({error}). Nothing was written.", file=str(path)) from error


def _segments(rows: pa.Table) -> Iterator[pa.Table]:
    """Cut where another source file begins: another digest, or a row number that does not grow."""
    numbers = rows.column("source_row").to_numpy()
    digests = rows.column("source_digest").combine_chunks()
    changed = pa.compute.not_equal(digests[1:], digests[:-1]).to_numpy(zero_copy_only=False)
    cuts = [0, *(np.flatnonzero(changed | (np.diff(numbers) <= 0)) + 1).tolist(), len(numbers)]
    for start, end in pairwise(cuts):
        if end > start:
            yield rows.slice(start, end - start)
