"""The data files at a folder destination: which are whole, and which `verify` found damaged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from rollmill.errors import StoreError
from rollmill.keys import canonical_json
from rollmill.publish.durable import write_atomic, writing
from rollmill.publish.occupancy import DAMAGED
from rollmill.publish.version import DataFile


def damaged_paths(root: Path) -> frozenset[str]:
    """Give the data files that are noted as damaged: they are there in full size with other bytes."""
    try:
        noted = json.loads((root / DAMAGED).read_bytes())
    except (OSError, ValueError):
        return frozenset()
    return frozenset(map(str, noted)) if isinstance(noted, list) else frozenset()


def note_damaged(root: Path, paths: Collection[str], scratch: Path) -> None:
    """Note which data files are damaged, those noted before no longer."""
    if paths:
        write_atomic(root / DAMAGED, canonical_json(sorted(paths)), scratch)
        return
    with writing(root / DAMAGED):
        (root / DAMAGED).unlink(missing_ok=True)


def is_whole(root: Path, file: DataFile, damaged: Collection[str] = ()) -> bool:
    """Tell whether a data file is there in full and not noted as damaged. Its bytes are not read."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return (root / file.path).stat().st_size == file.bytes and file.path not in damaged
    return False


def are_whole(root: Path, files: Iterable[DataFile]) -> bool:
    """Tell whether all of these data files are whole."""
    damaged = damaged_paths(root)
    return all(is_whole(root, file, damaged) for file in files)


def check_copy(source: Path, file: DataFile) -> None:
    """Refuse to mend a data file with bytes that are not its own: StoreError."""
    with source.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    if digest != file.sha256:
        raise StoreError(
            f"The published file {file.path} is damaged, and so is its copy in the store, {source}. "
            "Run `rollmill verify` on the store; the next run makes the file again from its source.",
            file=str(source),
        )
