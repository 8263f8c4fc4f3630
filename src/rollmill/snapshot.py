"""What a source holds at one revision: its files with their digests, configs and splits. Values, no I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One data file of a snapshot.

    `path` is relative to the source, POSIX style, exactly as listed; `local` is where its bytes are read.
    `ordinal` counts files of the same bytes within one config and split (0 for the first).
    `size` is in bytes on disk; `sha256` is 64 hex characters over those bytes.
    """

    path: str
    local: Path
    size: int
    sha256: str
    config: str
    split: str
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is no data, and why it was passed over."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A source, resolved once.

    `name` is the source's slug (data_source). `revision` pins the content: for local sources it is the digest over
    paths and file digests. `files` stand in natural order within each split, splits in natural order within each
    config. `card` is the YAML front matter of the source's README.md (empty without one), `facts` what its lines of the
    form "- **key**: `value`" say.
    """

    name: str
    uri: str
    revision: str
    files: tuple[SourceFile, ...]
    card: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[str, ...] = ()
