"""Which layout a source has: its columns, promoted over files, against the known layouts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from rollmill.config import Source, check_options
from rollmill.errors import LayoutError, NothingToReadError
from rollmill.formats.records import Inspection
from rollmill.identity import logical_type
from rollmill.layouts import Layout, detect
from rollmill.promotion import promoted_schema
from rollmill.snapshot import Snapshot, SourceFile

Place = tuple[str, str]
"""A config and a split."""


def files_by_split(snapshot: Snapshot) -> dict[Place, list[SourceFile]]:
    """Group files by config and split, order kept."""
    places: dict[Place, list[SourceFile]] = {}
    for file in snapshot.files:
        places.setdefault((file.config, file.split), []).append(file)
    return places


def schema_of(files: Iterable[SourceFile], inspections: Mapping[str, Inspection]) -> pa.Schema:
    """Promote over files; those without records and columns (an empty text file) have no say."""
    looks = [(file.path, inspections[file.sha256]) for file in files]
    return promoted_schema((path, look.schema) for path, look in looks if look.rows or len(look.schema))


def detect_layout(source: Source, snapshot: Snapshot, inspections: Mapping[str, Inspection]) -> Layout:
    """Detect the layout in each split; they must agree.

    Raises NothingToReadError without a record, LayoutError, ConfigError for options the layout does not take, and
    FileRefusedError for columns that drifted too far.
    """
    if not any(inspections[file.sha256].rows for file in snapshot.files):
        raise NothingToReadError(
            f"Source {snapshot.name} ({snapshot.uri}) holds no record in its {len(snapshot.files)} data file(s). "
            "Check that the export was complete."
        )
    found: dict[str, Layout] = {}
    for (config, split), files in files_by_split(snapshot).items():
        types = {field.name: logical_type(field) for field in schema_of(files, inspections)}
        if types:
            found[f"{config}/{split}"] = detect(types, f"{snapshot.name}, split {split}", wanted=source.layout)
    if not found:
        raise LayoutError(
            f"Source {snapshot.name} ({snapshot.uri}) has no column in any file: no record could be read."
        )
    if len({layout.name for layout in found.values()}) > 1:
        seen = ", ".join(f"{split} is {layout.name}" for split, layout in found.items())
        raise LayoutError(
            f"The splits of source {snapshot.name} have different layouts: {seen}. Give them to separate sources."
        )
    layout = next(iter(found.values()))
    check_options(layout.name, dict(source.options))
    return layout
