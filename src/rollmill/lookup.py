"""A published row by its id, and the source row it was made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from rollmill.errors import AccessError, ConfigError
from rollmill.publish import DataFile, FolderDestination, SourceEntry

_FILE = "rollmill.file"


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row of a version: its columns, the data file it is in, and where its source row is."""

    row: dict[str, Any]
    file: DataFile
    uri: str
    revision: str | None
    source_path: str
    source_row: int


def find_row(destination: FolderDestination, row_id: str, number: int | None = None) -> FoundRow:
    """Find a row in a version, the current one without a number. Only the column of ids is read whole.

    Raises ConfigError if no row has this id, AccessError if the version or a data file is not there.
    """
    version = destination.read_manifest(number)
    files = {str(destination.data_path(file)): file for file in version.files}
    rows = pl.scan_parquet(list(files), include_file_paths=_FILE).filter(pl.col("row_id") == row_id)
    try:
        found = rows.head(1).collect().to_dicts()
    except FileNotFoundError as error:
        raise AccessError(f"A data file of the version is missing: {error}.") from error
    if not found:
        raise ConfigError(
            f"No row of {destination.path} has the row_id {row_id!r} ({version.total.rows_written} rows)."
        )
    row = found[0]
    file = files[row.pop(_FILE)]
    entry = next(entry for entry in version.sources if entry.name == file.source)
    place = _place(entry, file, row["source_digest"])
    return FoundRow(row, file, place["uri"], place["revision"], place["path"], row["source_row"])


def _place(entry: SourceEntry, file: DataFile, digest: str) -> dict[str, Any]:
    """Look up where a source file came from; the first of several equal ones in the split."""
    return next(of for of in entry.files[digest] if (of["config"], of["split"]) == (file.config, file.split))
