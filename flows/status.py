"""What a pipeline has published, and what of it a run would make anew, and why. No data file is opened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rollmill.config import Pipeline
from rollmill.errors import RollmillError
from rollmill.flows.launch import known_plan
from rollmill.ingest import resolve
from rollmill.plan import Plan, SourcePlan
from rollmill.publish import FolderDestination, SourceEntry, VersionManifest
from rollmill.schema import SCHEMA_VERSION
from rollmill.shards import WRITER_PROFILE
from rollmill.snapshot import Snapshot
from rollmill.sources.index import StatIndex
from rollmill.store import FolderStore

State = Literal["current", "stale", "new", "gone", "unknown"]
Place = tuple[str, str]
"""Config and split."""


@dataclass(frozen=True, slots=True)
class SplitStatus:
    """A split of a source: is what is published of it what a run would publish, and if not, why."""

    source: str
    config: str
    split: str
    state: State
    why: str = ""


@dataclass(frozen=True, slots=True)
class VersionStatus:
    """A version that is kept: its number and digest, the rows of its data files, and whether it is the current one."""

    number: int
    digest: str
    rows: int
    current: bool


def versions(destination: FolderDestination) -> list[VersionStatus]:
    """List the versions of a destination, oldest first. Raises AccessError if there is none."""
    current = destination.current()
    numbers = destination.numbers()
    manifests = ((number, destination.read_manifest(number)) for number in numbers)
    return [
        VersionStatus(number, of.digest, of.total.rows_written, current is not None and number == current.number)
        for number, of in manifests
    ]


def status(pipeline: Pipeline) -> list[SplitStatus]:
    """Compare each split of each source with the current version, in the pipeline's order.

    Raises what a run would raise about the destination; a source that can't be read is `unknown`, with the reason.
    """
    destination = FolderDestination(pipeline.destination_path)
    published = destination.read_manifest() if destination.check(pipeline.name) else None
    store = FolderStore(pipeline.store_path)
    plan = _plan(pipeline)
    found: list[SplitStatus] = []
    with closing(StatIndex(store.stat_index)) as index:
        for source in pipeline.sources:
            try:
                snapshot = resolve(source, lambda path: index.peek(path) or _unread(path))
            except RollmillError as error:
                found.append(SplitStatus(source.slug, "", "", "unknown", error.message))
                continue
            found += _compare(snapshot, published, plan)
    known = {source.slug for source in pipeline.sources}
    entries = published.sources if published else ()
    return found + [line for entry in entries if entry.name not in known for line in _gone(entry, entry.splits)]


def _unread(path: Path) -> str:
    return f"not read yet: {path}"


def _plan(pipeline: Pipeline) -> Plan | None:
    try:
        return known_plan(pipeline)
    except RollmillError:
        return None


def _compare(snapshot: Snapshot, published: VersionManifest | None, plan: Plan | None) -> Iterator[SplitStatus]:
    entry = next((e for e in published.sources if e.name == snapshot.name), None) if published else None
    digests: dict[Place, set[str]] = {}
    for file in snapshot.files:
        digests.setdefault((file.config, file.split), set()).add(file.sha256)
    if entry is None or published is None:
        yield from (SplitStatus(snapshot.name, *place, "new") for place in digests)
        return
    planned = next((source for source in plan.sources if source.name == snapshot.name), None) if plan else None
    for place, files in digests.items():
        before = _digests(entry, place)
        if before is None:
            yield SplitStatus(snapshot.name, *place, "new")
            continue
        why = _files_differ(before, files) or (planned and _made_otherwise(planned, place, entry, published)) or ""
        yield SplitStatus(snapshot.name, *place, "stale" if why else "current", why)
    left = {c: [s for s in splits if (c, s) not in digests] for c, splits in entry.splits.items()}
    yield from _gone(entry, left)


def _digests(entry: SourceEntry, place: Place) -> set[str] | None:
    if place[1] not in entry.splits.get(place[0], {}):
        return None
    return {digest for digest, listed in entry.files.items() for of in listed if (of["config"], of["split"]) == place}


def _files_differ(before: set[str], after: set[str]) -> str:
    new, gone = len(after - before), len(before - after)
    parts = [f"{count} {what}" for count, what in ((new, "new or changed"), (gone, "gone or changed")) if count]
    return f"files: {', '.join(parts)}" if parts else ""


def _made_otherwise(source: SourcePlan, place: Place, entry: SourceEntry, published: VersionManifest) -> str:
    """Say why equal files would give other bytes: the keys of their units differ."""
    units = [unit for unit in source.units if (unit.unit.config, unit.unit.split) == place]
    keys = {file.key for file in published.files if (file.source, file.config, file.split) == (source.name, *place)}
    if keys <= {unit.normalize_key for unit in units}:
        return ""
    if entry.layout != source.layout.tag:
        return f"layout: {entry.layout} then, {source.layout.tag} now"
    if published.schema_version != SCHEMA_VERSION or published.writer != f"profile-{WRITER_PROFILE}":
        return "the unified schema or the writer's settings have changed"
    return "options, expectations or the rules of a stage have changed"


def _gone(entry: SourceEntry, places: Mapping[str, Iterable[str]]) -> Iterator[SplitStatus]:
    for config, splits in places.items():
        yield from (SplitStatus(entry.name, config, split, "gone") for split in splits)
