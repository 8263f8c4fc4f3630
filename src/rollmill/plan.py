"""What a run has to do: layouts, units and their keys, computed from snapshots and inspections. No data is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from rollmill.config import Pipeline, Source, check_options
from rollmill.errors import LayoutError, NothingToReadError
from rollmill.formats.records import Inspection
from rollmill.identity import logical_type
from rollmill.keys import NORMALIZE_VERSION, READER_VERSION, VALIDATE_VERSION, digest_of
from rollmill.layouts import Layout, detect
from rollmill.promotion import promoted_schema
from rollmill.schema import SCHEMA_VERSION
from rollmill.shards import WRITER_PROFILE
from rollmill.snapshot import Snapshot, SourceFile
from rollmill.units import Unit, cut_units

SuiteDigest = Callable[[str, pa.Schema], str]
"""Gives the digest of the suite for a layout's name and the schema of what is validated."""


@dataclass(frozen=True)
class Ingested:
    """A source after ingest: its snapshot, and an inspection per file digest."""

    source: Source
    snapshot: Snapshot
    inspections: Mapping[str, Inspection]

    def inspection(self, file: SourceFile) -> Inspection:
        """Look up what is known of a file."""
        return self.inspections[file.sha256]


@dataclass(frozen=True)
class UnitPlan:
    """A unit with all that decides its artifacts. `schema` is that of all its files, promoted."""

    unit: Unit
    layout: Layout
    options: Mapping[str, str]
    schema: pa.Schema
    inspections: Mapping[str, Inspection]
    validate_key: str
    normalize_key: str


@dataclass(frozen=True)
class SourcePlan:
    """A source with its layout and units. `schemas` holds the promoted schema of each (config, split)."""

    ingested: Ingested
    layout: Layout
    schemas: Mapping[tuple[str, str], pa.Schema]
    units: tuple[UnitPlan, ...]

    @property
    def name(self) -> str:
        """The source's slug."""
        return self.ingested.snapshot.name


@dataclass(frozen=True)
class Plan:
    """All work of a run, in the order of what is published."""

    pipeline: Pipeline
    sources: tuple[SourcePlan, ...]

    @property
    def units(self) -> tuple[UnitPlan, ...]:
        """The units of all sources, in order."""
        return tuple(unit for source in self.sources for unit in source.units)


def make_plan(pipeline: Pipeline, ingested: Iterable[Ingested], suite_digest: SuiteDigest) -> Plan:
    """Plan a run. Raises LayoutError, FileRefusedError (drifted columns) or NothingToReadError."""
    return Plan(pipeline, tuple(_plan_source(pipeline, source, suite_digest) for source in ingested))


def _plan_source(pipeline: Pipeline, ingested: Ingested, suite_digest: SuiteDigest) -> SourcePlan:
    snapshot = ingested.snapshot
    if not any(ingested.inspection(file).rows for file in snapshot.files):
        raise NothingToReadError(
            f"Source {snapshot.name} ({snapshot.uri}) holds no record in its {len(snapshot.files)} data file(s). "
            "Check that the export was complete."
        )
    schemas = {place: _schema_of(files, ingested) for place, files in _files_by_split(snapshot).items()}
    layout = _layout_of(schemas, ingested)
    check_options(layout.name, ingested.source.options)
    units = cut_units(snapshot, ingested.inspection, unit_bytes=pipeline.unit_bytes)
    planned = tuple(_plan_unit(unit, layout, ingested, suite_digest) for unit in units)
    return SourcePlan(ingested, layout, schemas, planned)


def _files_by_split(snapshot: Snapshot) -> dict[tuple[str, str], list[SourceFile]]:
    places: dict[tuple[str, str], list[SourceFile]] = {}
    for file in snapshot.files:
        places.setdefault((file.config, file.split), []).append(file)
    return places


def _schema_of(files: Iterable[SourceFile], ingested: Ingested) -> pa.Schema:
    """Promote over files; those without records and columns (an empty text file) have no say."""
    looks = [(file.path, ingested.inspection(file)) for file in files]
    return promoted_schema((path, look.schema) for path, look in looks if look.rows or len(look.schema))


def _layout_of(schemas: Mapping[tuple[str, str], pa.Schema], ingested: Ingested) -> Layout:
    """Detect the layout in each split; they must agree."""
    name, wanted = ingested.snapshot.name, ingested.source.layout
    found = {
        f"{config}/{split}": detect({f.name: logical_type(f) for f in schema}, f"{name}, split {split}", wanted=wanted)
        for (config, split), schema in schemas.items()
        if len(schema)
    }
    if not found:
        raise LayoutError(
            f"Source {name} ({ingested.snapshot.uri}) has no column in any file: no record could be read."
        )
    if len({layout.name for layout in found.values()}) > 1:
        seen = ", ".join(f"{split} is {layout.name}" for split, layout in found.items())
        raise LayoutError(f"The splits of source {name} have different layouts: {seen}. Give them to separate sources.")
    return next(iter(found.values()))


def judged_schema(layout: Layout, schema: pa.Schema) -> pa.Schema:
    """Give what of a unit is validated: a column its layout needs is null where none of the unit's files has it."""
    lacking = [pa.field(name, pa.null()) for name in layout.required if name not in schema.names]
    return pa.schema([*schema, *lacking])


def _plan_unit(unit: Unit, layout: Layout, ingested: Ingested, suite_digest: SuiteDigest) -> UnitPlan:
    schema = _schema_of((part.file for part in unit.parts), ingested)
    place = {
        "data_source": unit.source,
        "config": unit.config,
        "split": unit.split,
        "layout": layout.tag,
        "options": dict(ingested.source.options),
        "reader": READER_VERSION,
        "inputs": [part.key() for part in unit.parts],
    }
    suite = suite_digest(layout.name, judged_schema(layout, schema))
    validate_key = digest_of(place | {"stage": "validate", "version": VALIDATE_VERSION, "suite": suite})
    normalize_key = digest_of(
        place
        | {
            "stage": "normalize",
            "version": NORMALIZE_VERSION,
            "schema": SCHEMA_VERSION,
            "writer": WRITER_PROFILE,
            "verdict": validate_key,
        }
    )
    inspections = {part.file.sha256: ingested.inspection(part.file) for part in unit.parts}
    return UnitPlan(unit, layout, ingested.source.options, schema, inspections, validate_key, normalize_key)
