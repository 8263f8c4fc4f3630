"""What one version of a published dataset is: its files, sources, counts and lineage. Values, no I/O.

The same values serve every kind of destination: a folder, a bucket, the Hub.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from rollmill.keys import canonical_json, sealed, unsealed
from rollmill.publish.configs import MERGE_RULE, ConfigPlan, SplitMapping, plan_configs
from rollmill.publish.names import safe_segment

VERSION_FORMAT: Final = "rollmill-version@1"
_SAFE_PATH: Final = re.compile(r"data(/[A-Za-z0-9][A-Za-z0-9._-]*){4}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class DataFile:
    """One published parquet file.

    `source`, `config` and `split` are the source's raw names; `path` is POSIX, relative to the destination; `sha256`
    and `bytes` are of the file; `rows` counts its rows (rows_written); `key` is the key of the unit that made it.
    """

    source: str
    config: str
    split: str
    path: str
    sha256: str
    bytes: int
    rows: int
    key: str

    @classmethod
    def of(cls, source: str, config: str, split: str, *, sha256: str, size: int, rows: int, key: str) -> DataFile:
        """Name a file by where it belongs and what it holds: `data/<source>/<config>/<split>/<sha256[:32]>.parquet`."""
        folders = "/".join(safe_segment(name) for name in (source, config, split))
        return cls(source, config, split, f"data/{folders}/{sha256[:32]}.parquet", sha256, size, rows, key)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> DataFile:
        """Read the JSON form. ValueError for a path that leads out of `data/` or a digest that is none."""
        file = cls(**value)
        if not _SAFE_PATH.fullmatch(file.path) or not _SHA256.fullmatch(file.sha256):
            raise ValueError(f"not a data file of Rollmill: {file.path!r}")
        return file


@dataclass(frozen=True, slots=True)
class Counts:
    """Source records in, and what became of them; `rows_written` counts the rows of the data files."""

    rows_in: int = 0
    rows_published: int = 0
    rows_quarantined: int = 0
    rows_dropped: int = 0
    rows_written: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.rows_in + other.rows_in,
            self.rows_published + other.rows_published,
            self.rows_quarantined + other.rows_quarantined,
            self.rows_dropped + other.rows_dropped,
            self.rows_written + other.rows_written,
        )


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """One source of a version.

    `layout` is `name@version`. `splits` maps config and split (raw names) to counts, empty splits included. `reasons`
    maps a reason code to the records put aside for it, `kept` to those published all the same. `files` maps the sha256
    of a source file to where it came from: a list of {uri, revision, path, config, split, rows, schema (base64 Arrow
    IPC)}, so that the version alone can be restored.
    """

    name: str
    uri: str
    revision: str
    layout: str
    splits: Mapping[str, Mapping[str, Counts]]
    reasons: Mapping[str, int] = field(default_factory=dict)
    kept: Mapping[str, int] = field(default_factory=dict)
    license: str | None = None
    files: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def total(self) -> Counts:
        """The counts over all splits."""
        return sum((counts for splits in self.splits.values() for counts in splits.values()), Counts())

    def as_json(self) -> dict[str, Any]:
        """Give the JSON form."""
        splits = {config: {split: asdict(counts) for split, counts in of.items()} for config, of in self.splits.items()}
        return {
            "name": self.name,
            "uri": self.uri,
            "revision": self.revision,
            "layout": self.layout,
            "splits": splits,
            "reasons": dict(self.reasons),
            "kept": dict(self.kept),
            "license": self.license,
            "files": dict(self.files),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> SourceEntry:
        """Read the JSON form."""
        splits = {config: {s: Counts(**counts) for s, counts in of.items()} for config, of in value["splits"].items()}
        return cls(**{**value, "splits": splits})


@dataclass(frozen=True)
class VersionManifest:
    """One version, whole. Build it with `plan`; numbers, times and parents belong to the destination.

    `files` stand in reading order. `configs` and `mapping` are the result of the rule named `merge_rule`.
    `writer` names the pinned parquet writer profile.
    """

    pipeline: str
    schema_version: int
    writer: str
    sources: tuple[SourceEntry, ...]
    files: tuple[DataFile, ...]
    configs: tuple[ConfigPlan, ...]
    mapping: tuple[SplitMapping, ...]
    merge_rule: str = MERGE_RULE

    @classmethod
    def plan(
        cls,
        pipeline: str,
        *,
        schema_version: int,
        writer: str,
        sources: Iterable[SourceEntry],
        files: Iterable[DataFile],
    ) -> VersionManifest:
        """Make the version of these files, in this order."""
        listed = tuple(files)
        planned = plan_configs(listed)
        return cls(pipeline, schema_version, writer, tuple(sources), listed, planned.configs, planned.mapping)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over paths, file digests, rows, schema version and configs: equal content, equal digest.

        Not in it: time, version number, pipeline, URIs, revisions and what was put aside.
        """
        content = {
            "format": VERSION_FORMAT,
            "schema_version": self.schema_version,
            "files": [[file.path, file.sha256, file.rows] for file in self.files],
            "configs": [config.as_json() for config in self.configs],
        }
        return hashlib.sha256(canonical_json(content)).hexdigest()

    @property
    def total(self) -> Counts:
        """The counts over all sources."""
        return sum((source.total for source in self.sources), Counts())

    def keeping(self, parent: VersionManifest | None) -> VersionManifest:
        """Use the parent's file for every unit (source, config, split, key) it already published."""
        if parent is None:
            return self
        published = {(file.source, file.config, file.split, file.key): file for file in parent.files}
        files = [published.get((file.source, file.config, file.split, file.key), file) for file in self.files]
        plan = plan_configs(files)
        return replace(self, files=tuple(files), configs=plan.configs, mapping=plan.mapping)

    def to_json(self) -> bytes:
        """Encode as canonical JSON, with the digest and a checksum over all."""
        value = {
            "format": VERSION_FORMAT,
            "digest": self.digest,
            "pipeline": self.pipeline,
            "schema_version": self.schema_version,
            "writer": self.writer,
            "sources": [source.as_json() for source in self.sources],
            "files": [asdict(file) for file in self.files],
            "configs": [config.as_json() for config in self.configs],
            "mapping": [asdict(row) for row in self.mapping],
            "merge_rule": self.merge_rule,
        }
        return sealed(value)

    @classmethod
    def from_json(cls, data: bytes) -> VersionManifest:
        """Decode `to_json`. ValueError if it is none of ours, of another format, or its digest does not fit."""
        try:
            value = unsealed(data)
            if value["format"] != VERSION_FORMAT:
                raise ValueError(f"format {value['format']!r}, not {VERSION_FORMAT!r}")
            manifest = cls(
                value["pipeline"],
                value["schema_version"],
                value["writer"],
                tuple(SourceEntry.from_json(source) for source in value["sources"]),
                tuple(DataFile.from_json(file) for file in value["files"]),
                tuple(ConfigPlan.from_json(config) for config in value["configs"]),
                tuple(SplitMapping(**row) for row in value["mapping"]),
                value["merge_rule"],
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a version manifest: {error!r}") from error
        if manifest.digest != value["digest"]:
            raise ValueError("its digest does not fit its content")
        return manifest
