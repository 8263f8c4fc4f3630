"""What a source looks like to someone who sees it for the first time, and how to begin with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import yaml

from rollmill import formats
from rollmill.config import Source
from rollmill.detection import Place, files_by_split, schema_of
from rollmill.formats.records import Inspection
from rollmill.identity import logical_type
from rollmill.ingest import resolve
from rollmill.layouts import Fit, known_layouts
from rollmill.snapshot import Snapshot

SAMPLE_ROWS: Final = 1_000
_SAMPLE_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Column:
    """A column as promoted over all files. `nulls` and `example` are of the first `SAMPLE_ROWS` records."""

    name: str
    type: str
    nulls: int
    example: Any


@dataclass(frozen=True, slots=True)
class Description:
    """A source: the records of its splits, its columns, and how each known layout fits, the best first."""

    snapshot: Snapshot
    splits: dict[Place, int]
    columns: tuple[Column, ...]
    sampled: int
    fits: tuple[Fit, ...]

    @property
    def layout(self) -> str | None:
        """The layout that fits best, if one does."""
        fitting = [fit for fit in self.fits if fit.fits]
        best = [fit for fit in fitting if not any(fit.required < other.required for other in fitting)]
        return best[0].layout if len(best) == 1 else None

    def pipeline_file(self, uri: str) -> str:
        """Write a pipeline file to begin with."""
        source = {"name": self.snapshot.name, "uri": uri, "layout": self.layout or "auto"}
        return yaml.safe_dump(
            {"name": self.snapshot.name, "destination": f"./{self.snapshot.name}-unified", "sources": [source]},
            sort_keys=False,
            allow_unicode=True,
        )


def describe(uri: str) -> Description:
    """Look at all files of a source, and at its first records. Nothing is stored.

    Raises what reading the source would raise: SourceMissingError, NothingToReadError, FileRefusedError.
    """
    source = Source(uri=uri)
    snapshot = resolve(source, str)  # a path stands for the bytes: nothing is hashed
    looks = {file.sha256: formats.inspect(file.local, file.path) for file in snapshot.files}
    places = files_by_split(snapshot)
    schema = schema_of(snapshot.files, looks)
    types = {field.name: logical_type(field) for field in schema}
    sample = _sample(snapshot, looks)
    fits = sorted((layout.fit(types) for layout in known_layouts().values()), key=_best_first)
    return Description(
        snapshot=snapshot,
        splits={place: sum(looks[file.sha256].rows for file in files) for place, files in places.items()},
        columns=tuple(_column(name, kind, sample) for name, kind in types.items()),
        sampled=sample.num_rows,
        fits=tuple(fits),
    )


def _best_first(fit: Fit) -> tuple[bool, int, str]:
    return (not fit.fits, -len(fit.required) if fit.fits else len(fit.problems), fit.layout)


def _sample(snapshot: Snapshot, looks: dict[str, Inspection]) -> pa.Table:
    """Read the first records of the first file that has any."""
    for file in snapshot.files:
        look = looks[file.sha256]
        for records in formats.read(file.local, file.path, look, batch_bytes=_SAMPLE_BYTES):
            if len(records.rows):
                return pa.Table.from_batches([records.data]).slice(0, SAMPLE_ROWS)
    return pa.table({})


def _column(name: str, kind: str, sample: pa.Table) -> Column:
    if name not in sample.column_names:
        return Column(name, kind, sample.num_rows, None)
    values = sample.column(name)
    present: Sequence[Any] = values.drop_null().slice(0, 1).to_pylist()
    return Column(name, kind, values.null_count, present[0] if present else None)
