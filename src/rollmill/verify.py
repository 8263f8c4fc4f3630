"""Check every byte of a store or a published dataset against its digest, so that the next run mends what is wrong.

What is wrong in a store is moved to its folder `damaged/`: an artifact that lacks a payload does not exist, and is made
again. Published data files stay where they are, for readers; a note tells the next run to copy them again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rollmill.errors import AccessError, RollmillError, StoreError
from rollmill.publish import FolderDestination
from rollmill.publish.occupancy import CURRENT
from rollmill.store import FolderStore, Manifest

_READERS: Final = 4


@dataclass(frozen=True, slots=True)
class Damage:
    """A file that is not what it must be: its path below the root, and what is wrong with it."""

    path: str
    what: str


@dataclass
class Verified:
    """What was found: files and bytes read, and those that are damaged."""

    files: int = 0
    bytes: int = 0
    damaged: list[Damage] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Expected:
    path: Path
    sha256: str
    bytes: int | None = None


def verify(path: Path) -> Verified:
    """Check a store or a destination, whichever the folder is. Raises AccessError if it is neither."""
    if (path / CURRENT).exists():
        return verify_destination(FolderDestination(path))
    if (path / "artifacts").is_dir() and (path / "objects").is_dir():
        return verify_store(FolderStore(path))
    raise AccessError(
        f"{path} is neither a published dataset (it has no {CURRENT}) nor a store (it has no artifacts/ and objects/).",
        file=str(path),
    )


def verify_destination(destination: FolderDestination) -> Verified:
    """Check the data files, cards and manifests of all kept versions, and note damaged data files for the next run."""
    found = Verified()
    expected: dict[Path, _Expected] = {}
    for number in destination.numbers():
        try:
            manifest = destination.read_manifest(number)
        except RollmillError as error:
            found.damaged.append(Damage(_below(destination.path, error.file), error.message))
            continue
        found.files += 1
        for file in manifest.files:
            place = destination.data_path(file)
            expected[place] = _Expected(place, file.sha256, file.bytes)
    damaged = _check(expected.values(), destination.path, found)
    destination.note_damaged([damage.path for damage in damaged])
    return found


def _below(root: Path, file: str | None) -> str:
    path = Path(file or root)
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def verify_store(store: FolderStore) -> Verified:
    """Check all payloads and manifests, and move what is damaged out of the way."""
    found = Verified()
    for damage in [*_check(_payloads(store), store.root, found), *_bad_manifests(store, found)]:
        store.set_aside(damage.path)
    return found


def _check(files: Iterable[_Expected], root: Path, found: Verified) -> list[Damage]:
    with ThreadPoolExecutor(_READERS) as pool:
        damaged = []
        for file, (size, what) in pool.map(lambda file: (file, _problem(file)), files):
            found.files, found.bytes = found.files + 1, found.bytes + size
            if what:
                damaged.append(Damage(file.path.relative_to(root).as_posix(), what))
    found.damaged += damaged
    return damaged


def _problem(file: _Expected) -> tuple[int, str]:
    """Read a file. Gives its bytes and what is wrong, "" if nothing is."""
    try:
        with file.path.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
            size = content.tell()
    except FileNotFoundError:
        return 0, "it is missing"
    except OSError as error:
        return 0, f"it can't be read: {error.strerror}"
    if file.bytes not in {None, size}:
        return size, f"it has {size:,} bytes, not {file.bytes:,}"
    return size, "" if digest == file.sha256 else f"its content has changed (sha256 {digest[:12]}…)"


def _payloads(store: FolderStore) -> Iterator[_Expected]:
    return (_Expected(path, path.name) for path in sorted((store.root / "objects").iterdir()))


def _bad_manifests(store: FolderStore, found: Verified) -> list[Damage]:
    damaged = []
    for path in store.manifest_paths():
        found.files += 1
        try:
            manifest = Manifest.from_json(path.read_bytes())
            what = _unfit(manifest, path, store)
        except (KeyError, TypeError, ValueError):
            what = "it is no manifest"
        except OSError as error:
            raise StoreError(f"The manifest {path} can't be read: {error.strerror}.", file=str(path)) from error
        if what:
            damaged.append(Damage(path.relative_to(store.root).as_posix(), what))
    found.damaged += damaged
    return damaged


def _unfit(manifest: Manifest, path: Path, store: FolderStore) -> str:
    if (manifest.stage, manifest.key) != (path.parent.name, path.stem):
        return "it is the manifest of another key"
    gone = [payload.sha256 for payload in manifest.payloads if not store.object_path(payload.sha256).exists()]
    return f"its payload objects/{gone[0]} is missing" if gone else ""
