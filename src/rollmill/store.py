"""The store of versioned artifacts: payloads by digest, manifests by key, created once and never changed.

    objects/<sha256>              payloads; equal payloads are one object
    artifacts/<stage>/<key>.json  manifests, written last: without its manifest an artifact does not exist
    stat-index.sqlite             digests of unchanged local files
    scratch/                      work in progress, removed when it ends

A manifest is created only if absent; the loser of a race adopts the winner's.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

from rollmill.errors import StoreError
from rollmill.keys import canonical_json


@dataclass(frozen=True, slots=True)
class Payload:
    """One file of an artifact: `sha256` and `bytes` of its content, `rows` it holds."""

    name: str
    sha256: str
    bytes: int
    rows: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """An artifact: its payloads, the keys it was made from, and facts later stages need.

    `made` (when, by which versions) is information only and stands outside the key.
    """

    stage: str
    key: str
    payloads: tuple[Payload, ...] = ()
    parents: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)

    def payload(self, name: str) -> Payload | None:
        """Find a payload by name."""
        return next((p for p in self.payloads if p.name == name), None)

    def to_json(self) -> bytes:
        """Render canonically."""
        return canonical_json(asdict(self))

    @staticmethod
    def from_json(text: bytes) -> Manifest:
        """Read back. Raises KeyError or ValueError on damage."""
        raw = json.loads(text)
        payloads = tuple(Payload(**p) for p in raw["payloads"])
        return Manifest(raw["stage"], raw["key"], payloads, tuple(raw["parents"]), raw["facts"], raw["made"])


class HashingSink(io.RawIOBase):
    """A file opened for writing that knows the digest of what went through it, so nothing is read again."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        with _writing(path):
            self._file: IO[bytes] = path.open("wb", buffering=0)
        self._digest = hashlib.sha256()
        self.bytes = 0

    def writable(self) -> bool:
        """Say yes."""
        return True

    def write(self, data: Any) -> int:
        """Write all of `data`."""
        view = memoryview(data).cast("B")
        self._digest.update(view)
        done = 0
        with _writing(self._path):
            while done < len(view):
                done += self._file.write(view[done:])
        self.bytes += len(view)
        return len(view)

    def tell(self) -> int:
        """Give the position."""
        return self.bytes

    def close(self) -> None:
        """Flush to disk and close."""
        if self.closed:
            return
        try:
            with _writing(self._path):
                os.fsync(self._file.fileno())
        finally:
            self._file.close()
            super().close()

    @property
    def sha256(self) -> str:
        """64 hex characters over all bytes written."""
        return self._digest.hexdigest()


class FolderStore:
    """A store in a local folder. Safe for several threads and processes at once."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def stat_index(self) -> Path:
        """Where digests of unchanged local files are remembered."""
        return self.root / "stat-index.sqlite"

    def prepare(self) -> None:
        """Create the folders. Raises StoreError if that is not possible."""
        with _writing(self.root):
            for name in ("objects", "artifacts", "scratch"):
                (self.root / name).mkdir(parents=True, exist_ok=True)

    def object_path(self, sha256: str) -> Path:
        """Where a payload lies."""
        return self.root / "objects" / sha256

    def _manifest_path(self, stage: str, key: str) -> Path:
        return self.root / "artifacts" / stage / f"{key}.json"

    def get(self, stage: str, key: str) -> Manifest | None:
        """Find an artifact; None if it was not made or a payload is gone. Raises StoreError on a damaged manifest."""
        path = self._manifest_path(stage, key)
        try:
            manifest = Manifest.from_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"The manifest {path} can't be read: {error.strerror}.", file=str(path)) from error
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(
                f"The manifest {path} is damaged ({error}). Remove it, and the next run makes it again.",
                file=str(path),
            ) from error
        return manifest if all(self._has(p) for p in manifest.payloads) else None

    def _has(self, payload: Payload) -> bool:
        try:
            return self.object_path(payload.sha256).stat().st_size == payload.bytes
        except FileNotFoundError:
            return False

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Give a folder on the store's file system for work in progress, removed at the end."""
        self.prepare()
        with _writing(self.root):
            folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=self.root / "scratch"))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def put(self, manifest: Manifest, files: dict[str, Path]) -> Manifest:
        """Add an artifact whose payloads' bytes lie in `files` (by payload name, on the store's file system).

        Returns the manifest that stands: the one given, or that of whoever was first.
        """
        self.prepare()
        manifest = replace(manifest, made=_made())
        path = self._manifest_path(manifest.stage, manifest.key)
        with self.scratch() as folder, _writing(self.root):
            for payload in manifest.payloads:
                self._link(files[payload.name], self.object_path(payload.sha256), payload.bytes)
            path.parent.mkdir(exist_ok=True)
            draft = folder / "manifest.json"
            with draft.open("wb") as out:
                out.write(manifest.to_json())
                out.flush()
                os.fsync(out.fileno())
            return self._create(draft, path, manifest)

    def _create(self, draft: Path, path: Path, manifest: Manifest) -> Manifest:
        try:
            os.link(draft, path)
        except FileExistsError:
            first = self.get(manifest.stage, manifest.key)
            if first is not None:
                return first
            draft.replace(path)
        _sync_folder(path.parent)
        return manifest

    def _link(self, source: Path, target: Path, size: int) -> None:
        try:
            os.link(source, target)
        except FileExistsError:
            if target.stat().st_size != size:
                source.replace(target)
        _sync_folder(target.parent)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn errors of the file system into one that says what to do."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"The store can't be written: {path}: {error.strerror or error}. Make room, or name another folder with "
            "--store.",
            file=str(path),
        ) from error


def _made() -> dict[str, str]:
    """Say when and by which versions; never part of a key."""
    made = {"at": datetime.now(UTC).isoformat(timespec="seconds")}
    for name in ("rollmill", "pyarrow", "polars"):
        try:
            made[name] = version(name)
        except PackageNotFoundError:
            made[name] = "unknown"
    return made


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
