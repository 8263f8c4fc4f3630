"""What a published version put aside, from the store it was made with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from rollmill.aside.index import INDEX, PLACE
from rollmill.errors import AccessError
from rollmill.publish import VersionManifest
from rollmill.store import FolderStore

_KEYS = ("source_digest", "source_ordinal", "source_row", "reason", "reasons")


class PublishedAside:
    """The records in the quarantine files of a version's units. `origin` is the file, `at` the row in it."""

    def __init__(self, version: VersionManifest, store: FolderStore) -> None:
        """Read the index. Raises AccessError if a quarantine file is not in this store."""
        places = _places(version)
        digests = dict.fromkeys(places["object"])
        self._paths = [_path(store, digest) for digest in digests]
        numbers = pl.DataFrame({"object": list(digests), "origin": range(len(digests))}, schema=_NUMBERS)
        rows = [_keys(path, origin) for origin, path in enumerate(self._paths)]
        found = places.join(numbers, on="object").join(
            pl.concat(rows) if rows else pl.DataFrame(schema=_ROWS), on=["origin", "source_digest", "source_ordinal"]
        )
        self.index = found.sort("order", "record").select(INDEX.names())

    def schemas(self) -> Iterator[tuple[str, pa.Schema]]:
        """See `Aside`."""
        for path in self._paths:
            schema = pq.read_schema(path)
            if "row" in schema.names:
                yield path.name, pa.schema(list(schema.field("row").type))

    def records(self, chosen: pl.DataFrame) -> Iterator[pa.Table]:
        """See `Aside`."""
        for (origin,), lines in chosen.group_by("origin", maintain_order=True):
            wanted = lines.sort("at")
            with pq.ParquetFile(self._paths[int(str(origin))]) as file:
                start = 0
                for group in range(file.num_row_groups):
                    end = start + file.metadata.row_group(group).num_rows
                    here = wanted.filter(wanted["at"].is_between(start, end, closed="left"))
                    if here.height:
                        yield placed(file.read_row_group(group).take((here["at"] - start).to_arrow()), here)
                    start = end


def placed(records: pa.Table, lines: pl.DataFrame) -> pa.Table:
    """Add to records the place of each, as their lines in the index have it."""
    for name in PLACE:
        records = records.append_column(name, lines[name].to_arrow().cast(pa.string()))
    return records


_NUMBERS = pl.Schema({"object": pl.String(), "origin": pl.Int64()})
_ROWS = pl.Schema(
    {
        "source_digest": pl.String(),
        "source_ordinal": pl.Int32(),
        "record": pl.Int64(),
        "reason": pl.String(),
        "reasons": pl.List(pl.String()),
        "origin": pl.Int64(),
        "at": pl.Int64(),
    }
)


def _places(version: VersionManifest) -> pl.DataFrame:
    """List the source files of a version that have records in a quarantine file, in source order."""
    found = [
        (entry.name, of["config"], of["split"], of["path"], digest, of["ordinal"], held, (number, of["index"]))
        for number, entry in enumerate(version.sources)
        for digest, listed in entry.files.items()
        for of in listed
        for held in dict.fromkeys(of["quarantine"])
    ]
    found.sort(key=lambda place: place[-1])
    rows = [(*place[:-1], order) for order, place in enumerate(found)]
    kinds = dict.fromkeys((*PLACE, "source_digest"), pl.String())
    schema = {**kinds, "source_ordinal": pl.Int32(), "object": pl.String(), "order": pl.Int64()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _path(store: FolderStore, digest: str) -> Path:
    path = store.object_path(digest)
    if not path.exists():
        raise AccessError(
            f"The records that were put aside are not in the store {store.root}. Name the store the dataset was made "
            "with by --store.",
            file=str(path),
        )
    return path


def _keys(path: Path, origin: int) -> pl.DataFrame:
    keys = pl.DataFrame(pl.from_arrow(pq.read_table(path, columns=list(_KEYS)))).rename({"source_row": "record"})
    at = pl.int_range(pl.len()).cast(pl.Int64).alias("at")
    return keys.with_columns(pl.lit(origin).cast(pl.Int64).alias("origin"), at).select(_ROWS.names())
