"""What a run has to do: layouts, units and their keys, computed from snapshots and inspections. No data is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import polars as pl
import pyarrow as pa

from rollmill.checks import Expectation, near_and_all
from rollmill.config import Pipeline, Source
from rollmill.detection import files_by_split, schema_of
from rollmill.errors import ConfigError
from rollmill.formats.records import Inspection
from rollmill.keys import NORMALIZE_VERSION, READER_VERSION, VALIDATE_VERSION, digest_of
from rollmill.layouts import Layout, RolloutLayout
from rollmill.scans import ScanPlace, Values, cut_points, order_of, scan_place
from rollmill.schema import SCHEMA_VERSION
from rollmill.shards import WRITER_PROFILE
from rollmill.snapshot import Snapshot, SourceFile
from rollmill.units import Unit, cut_rollout_units, cut_units

SuiteDigest = Callable[[str, pa.Schema, Sequence[Expectation]], str]
"""Gives the digest of the suite for a layout's name, the schema of what is validated and the user's expectations."""


@dataclass(frozen=True)
class Ingested:
    """A source after ingest: its snapshot, an inspection per file digest, its layout and the options in force.

    `scans` holds, of layouts whose rollouts span rows, which rollouts each file has (by digest, config and split), and
    `values` those of the layout's `counted_columns`.
    """

    source: Source
    snapshot: Snapshot
    inspections: Mapping[str, Inspection]
    layout: Layout
    options: Mapping[str, str]
    scans: Mapping[ScanPlace, pl.DataFrame] = field(default_factory=dict)
    values: Values = field(default_factory=dict)

    def inspection(self, file: SourceFile) -> Inspection:
        """Look up what is known of a file."""
        return self.inspections[file.sha256]

    def cut_points(self, config: str, split: str) -> list[int]:
        """Give the positions of records in a split at which a cut parts no rollout."""
        files = files_by_split(self.snapshot)[config, split]
        offsets = accumulate((self.inspection(file).rows for file in files), initial=0)
        return cut_points([(at, self.scans[scan_place(file)]) for at, file in zip(offsets, files, strict=False)])


@dataclass(frozen=True)
class UnitPlan:
    """A unit with all that decides its artifacts. `schema` is that of all its files, promoted.

    `order` lists the rollouts of a unit whose rollouts span rows (`scans.order_of`). `lent` are columns that the user's
    expectations name and only other units of the source have values in: they are null here. `keep` are the reason codes
    whose records are published all the same.
    """

    unit: Unit
    layout: Layout
    options: Mapping[str, str]
    schema: pa.Schema
    inspections: Mapping[str, Inspection]
    validate_key: str
    normalize_key: str
    order: pl.DataFrame | None = None
    own: tuple[Expectation, ...] = ()
    lent: pa.Schema = field(default_factory=lambda: pa.schema([]))
    keep: tuple[str, ...] = ()


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

    @property
    def rollouts(self) -> int:
        """How many rollouts there are; where a row is one, as many as records."""
        return sum(unit.unit.rows if unit.order is None else len(unit.order) for unit in self.units)


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
    snapshot, layout = ingested.snapshot, ingested.layout
    places = files_by_split(snapshot)
    schemas = {place: schema_of(files, ingested.inspections) for place, files in places.items()}
    if isinstance(layout, RolloutLayout):
        units = cut_rollout_units(snapshot, ingested.inspection, ingested.cut_points, unit_bytes=pipeline.unit_bytes)
    else:
        units = cut_units(snapshot, ingested.inspection, unit_bytes=pipeline.unit_bytes)
    known = _columns_checked(ingested, schemas)
    planned = tuple(_plan_unit(unit, ingested, known, suite_digest) for unit in units)
    return SourcePlan(ingested, layout, schemas, planned)


def _columns_checked(ingested: Ingested, schemas: Mapping[tuple[str, str], pa.Schema]) -> Mapping[str, pa.Field]:
    """Give the fields of the columns that the user's expectations name, as far as the source has them.

    Raises ConfigError for a critical one whose column is in no file: it would judge nothing.
    """
    there: dict[str, pa.Field] = {}
    for column in (column for schema in schemas.values() for column in schema):
        if column.name not in there or pa.types.is_null(there[column.name].type):
            there[column.name] = column
    named: dict[str, pa.Field] = {}
    for check, name in ((each, name) for each in ingested.source.checks for name in each.columns):
        if found := _column_of(name, there):
            named[found.name] = found.with_nullable(nullable=True)
        elif check.severity in {"critical", "off"}:
            raise _no_column(ingested, check, name, there)
    return named


def _column_of(name: str, there: Mapping[str, pa.Field]) -> pa.Field | None:
    """Find a column, or the one whose member is meant by a name with a dot."""
    column, _, member = name.partition(".")
    outer = there.get(column)
    is_member = outer is not None and pa.types.is_struct(outer.type) and outer.type.get_field_index(member) >= 0
    return there.get(name) or (outer if is_member else None)


def _no_column(ingested: Ingested, check: Expectation, column: str, there: Iterable[str]) -> ConfigError:
    suite = ingested.source.suite
    origin = f"the suite {suite.path}" if suite and check in suite.expectations else "its `expectations`"
    file = ingested.snapshot.files[0].path
    return ConfigError(
        f"Source {ingested.snapshot.name}: {origin} names the column {column!r} ({check.type}), which none of its "
        f"files has, {file} the first{near_and_all(column, there)}",
        file=file,
        column=column,
    )


def judged_schema(layout: Layout, schema: pa.Schema) -> pa.Schema:
    """Give what of a unit is validated: a column its layout needs is null where none of the unit's files has it."""
    lacking = [pa.field(name, pa.null()) for name in layout.required if name not in schema.names]
    return pa.schema([*schema, *lacking])


def _plan_unit(unit: Unit, ingested: Ingested, checked: Mapping[str, pa.Field], suite_digest: SuiteDigest) -> UnitPlan:
    layout, own, keep = ingested.layout, ingested.source.checks, tuple(sorted(set(ingested.source.keep)))
    schema = schema_of((part.file for part in unit.parts), ingested.inspections)
    place = {
        "data_source": unit.source,
        "config": unit.config,
        "split": unit.split,
        "layout": layout.tag,
        "options": dict(ingested.options),
        "reader": READER_VERSION,
        "inputs": [part.key() for part in unit.parts],
    }
    suite = suite_digest(layout.name, judged_schema(layout, schema), own)
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
        | ({"keep": keep} if keep else {})
    )
    inspections = {part.file.sha256: ingested.inspection(part.file) for part in unit.parts}
    order = _order(unit, ingested) if isinstance(layout, RolloutLayout) else None
    known = {column.name for column in schema if not pa.types.is_null(column.type)}
    lent = pa.schema([column for name, column in checked.items() if name not in known])
    return UnitPlan(
        unit,
        layout,
        ingested.options,
        schema,
        inspections,
        validate_key,
        normalize_key,
        order=order,
        own=own,
        lent=lent,
        keep=keep,
    )


def _order(unit: Unit, ingested: Ingested) -> pl.DataFrame:
    """List the rollouts of a unit. Those of a file that begin within a part are the unit's, as no cut parts one."""
    scans, at = [], 0
    for part in unit.parts:
        scan = ingested.scans[scan_place(part.file)]
        mine = scan.filter(scan["first"].is_between(part.first_row, part.first_row + part.rows - 1))
        scans.append((at - part.first_row, mine))
        at += part.rows
    return order_of(scans)
