"""From finished units to a dataset version: its files, counts and where every source file came from."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping
from typing import Any

from rollmill.errors import ConservationError
from rollmill.normalize import QUARANTINE, ROLLOUTS
from rollmill.plan import Plan, SourcePlan
from rollmill.publish import Counts, DataFile, SourceEntry, VersionManifest
from rollmill.schema import SCHEMA_VERSION
from rollmill.shards import WRITER_PROFILE
from rollmill.snapshot import SourceFile
from rollmill.sources.local import local_path
from rollmill.store import Manifest

Done = Mapping[str, Manifest]
"""Normalize manifests by key."""


def make_version(plan: Plan, done: Done) -> VersionManifest:
    """Put a version together. Raises ConservationError if records in differ from published and put aside."""
    files = [
        DataFile.of(
            unit.unit.source,
            unit.unit.config,
            unit.unit.split,
            sha256=payload.sha256,
            size=payload.bytes,
            rows=payload.rows,
            key=unit.normalize_key,
        )
        for unit in plan.units
        if (payload := done[unit.normalize_key].payload(ROLLOUTS)) is not None
    ]
    entries = tuple(_entry(source, done) for source in plan.sources)
    return VersionManifest.plan(
        plan.pipeline.name,
        schema_version=SCHEMA_VERSION,
        writer=f"profile-{WRITER_PROFILE}",
        sources=entries,
        files=files,
    )


def _entry(source: SourcePlan, done: Done) -> SourceEntry:
    splits: dict[str, dict[str, Counts]] = {}
    for config, split in source.schemas:
        splits.setdefault(config, {})[split] = Counts()
    reasons: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for unit in source.units:
        manifest = done[unit.normalize_key]
        place = splits[unit.unit.config]
        place[unit.unit.split] += _counts(unit.unit.name, unit.unit.rows, manifest)
        reasons.update(manifest.facts["reasons"])
        kept.update(manifest.facts["kept"])
    snapshot = source.ingested.snapshot
    return SourceEntry(
        name=source.name,
        uri=public_uri(snapshot.uri),
        revision=snapshot.revision,
        layout=source.layout.tag,
        splits=splits,
        reasons=dict(sorted(reasons.items())),
        kept=dict(sorted(kept.items())),
        license=_license(snapshot.card),
        files=_files(source, done),
    )


def _counts(name: str, rows_in: int, manifest: Manifest) -> Counts:
    """Count one unit from its written files."""
    rollouts, aside = manifest.payload(ROLLOUTS), manifest.payload(QUARANTINE)
    quarantined = aside.rows if aside else 0
    published = int(manifest.facts["rows_published"])
    if published + quarantined != rows_in:
        raise ConservationError(
            f"Unit {name}: {rows_in} records in, but its files hold {published} published and {quarantined} put aside. "
            "Nothing is published; please report this."
        )
    return Counts(rows_in, published, quarantined, 0, rollouts.rows if rollouts else 0)


def public_uri(uri: str) -> str:
    """Say where a source is without telling local paths: of a local folder or file only its own name."""
    scheme = uri.split("://", 1)[0] if "://" in uri else "file"
    return uri if scheme != "file" else f"file:{local_path(uri).name}"


def _license(card: Mapping[str, Any]) -> str | None:
    value = card.get("license")
    return value if isinstance(value, str) else None


def _files(source: SourcePlan, done: Done) -> dict[str, list[dict[str, Any]]]:
    """Map each source file's digest to where it came from, and how its rows are restored."""
    snapshot = source.ingested.snapshot
    quarantine: dict[tuple[str, str, str], list[str]] = {}
    for unit in source.units:
        payload = done[unit.normalize_key].payload(QUARANTINE)
        if payload is not None:
            for part in unit.unit.parts:
                quarantine.setdefault(_place(part.file), []).append(payload.sha256)
    files: dict[str, list[dict[str, Any]]] = {}
    for index, file in enumerate(snapshot.files):
        look = source.ingested.inspection(file)
        files.setdefault(file.sha256, []).append(
            {
                "index": index,
                "uri": public_uri(snapshot.uri),
                "revision": snapshot.revision,
                "path": file.path,
                "config": file.config,
                "split": file.split,
                "ordinal": file.ordinal,
                "rows": look.rows,
                "schema": base64.b64encode(look.schema.serialize().to_pybytes()).decode(),
                "quarantine": quarantine.get(_place(file), []),
            }
        )
    return files


def _place(file: SourceFile) -> tuple[str, str, str]:
    """Tell a file from itself in another split: a card may name it in several."""
    return file.config, file.split, file.path
