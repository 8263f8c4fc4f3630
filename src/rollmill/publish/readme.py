"""README.md at a folder destination: does it name the current version, and what was edited by hand."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Final

from rollmill.publish.card import read_identity
from rollmill.publish.current import Current, version_folder
from rollmill.publish.durable import write_atomic
from rollmill.publish.occupancy import README

EDITED: Final = "README.edited.md"


def readme_fits(root: Path, current: Current) -> bool:
    """Tell whether README.md names the current version, be it edited by hand or not."""
    found = _read(root / README)
    if found is None:
        return False
    return sha256(found) == current.readme_sha256 or read_identity(found) == (current.number, current.digest)


def keep_edited(root: Path, current: Current, scratch: Path) -> None:
    """Copy a README.md that someone edited beside its version, before it is replaced."""
    found = _read(root / README)
    if found is None or sha256(found) == current.readme_sha256:
        return
    kept = (path.read_bytes() for path in (root / "versions").glob(f"*/{README}"))
    if found not in kept:
        write_atomic(root / version_folder(current.number, current.digest) / EDITED, found, scratch)


def kept_readme(root: Path, folder: str) -> bytes | None:
    """Read the card kept in a version's folder; None if it is gone."""
    return _read(root / folder / README)


def sha256(data: bytes) -> str:
    """Give the SHA-256 as 64 hex characters."""
    return hashlib.sha256(data).hexdigest()


def _read(path: Path) -> bytes | None:
    with suppress(FileNotFoundError):
        return path.read_bytes()
    return None
