"""The store of versioned artifacts: payloads by digest, manifests by key, created once and never changed.

    objects/<sha256>              payloads; equal payloads are one object
    artifacts/<stage>/<key>.json  manifests, written last: without its manifest an artifact does not exist
    stat-index.sqlite             digests of unchanged local files
    scratch/                      work in progress, each folder with a lock that is held as long as its maker lives
    damaged/                      what `verify` found to be other than it must be

A manifest is created only if absent; the loser of a race adopts the winner's.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any, Final

from filelock import FileLock, Timeout

from rollmill.errors import ConfigError, StoreError
from rollmill.keys import sealed, unsealed

_LOCK: Final = ".lock"
_REAPED_AFTER_SECONDS: Final = 60
"""A lock file is there a moment before it is locked."""


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
        """Render canonically, with a checksum."""
        return sealed(asdict(self))

    @staticmethod
    def from_json(text: bytes) -> Manifest:
        """Read back. Raises KeyError or ValueError on damage."""
        raw = unsealed(text)
        payloads = tuple(Payload(**p) for p in raw["payloads"])
        return Manifest(raw["stage"], raw["key"], payloads, tuple(raw["parents"]), raw["facts"], raw["made"])


class HashingSink(io.RawIOBase):
    """A file opened for writing that knows the digest of what went through it, so nothing is read again."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        with writing(path):
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
        with writing(self._path):
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
            with writing(self._path):
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
        with writing(self.root):
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

    def find(self, prefix: str) -> Manifest:
        """Find the artifact whose key begins so. Raises ConfigError if there is none, or several."""
        paths = [path for path in self.manifest_paths() if path.stem.startswith(prefix)]
        manifest = self.get(paths[0].parent.name, paths[0].stem) if len(paths) == 1 else None
        if manifest is None:
            raise ConfigError(
                f"{len(paths)} artifacts of the store {self.root} have a key that begins with {prefix!r}."
            )
        return manifest

    def manifest_paths(self) -> Iterator[Path]:
        """List the manifests of all stages."""
        return iter(sorted((self.root / "artifacts").glob("*/*.json")))

    def set_aside(self, path: str) -> None:
        """Move a damaged file (its path below the root) to `damaged/`; the artifact it belongs to is made again."""
        with writing(self.root):
            (self.root / "damaged").mkdir(exist_ok=True)
            with suppress(FileNotFoundError):
                (self.root / path).replace(self.root / "damaged" / path.replace("/", "-"))

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Give a folder on the store's file system for work in progress, removed at the end."""
        self.prepare()
        folder = self.root / "scratch" / uuid.uuid4().hex
        lock = FileLock(folder.with_suffix(_LOCK))
        with writing(self.root):
            lock.acquire()
            folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            folder.with_suffix(_LOCK).unlink(missing_ok=True)
            lock.release()

    def reap(self) -> None:
        """Remove the work in progress of processes that were killed."""
        self.prepare()
        for path in (self.root / "scratch").glob(f"*{_LOCK}"):
            with suppress(Timeout, FileNotFoundError):
                if time.time() - path.stat().st_mtime > _REAPED_AFTER_SECONDS:
                    with FileLock(path, timeout=0):
                        shutil.rmtree(path.with_suffix(""), ignore_errors=True)
                        path.unlink()

    def put(self, manifest: Manifest, files: dict[str, Path]) -> Manifest:
        """Add an artifact whose payloads' bytes lie in `files` (by payload name, on the store's file system).

        Returns the manifest that stands: the one given, or that of whoever was first.
        """
        self.prepare()
        manifest = replace(manifest, made=_made())
        path = self._manifest_path(manifest.stage, manifest.key)
        with self.scratch() as folder, writing(self.root):
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
            else:
                os.utime(target)  # pruning spares what is young
        _sync_folder(target.parent)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of the file system into one that says what to do."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"The store can't be written: {path}: {error.strerror or error}. {_remedy(error)}, or name another folder "
            "with --store.",
            file=str(path),
        ) from error


def _remedy(error: OSError) -> str:
    return "Make room" if error.errno in {errno.ENOSPC, errno.EDQUOT} else "See to that"


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
