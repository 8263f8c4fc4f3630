"""What in a store is needed: by the versions that were published from it, and by runs at work.

    refs/<destination>/<digest>.json   the artifacts a published version was made of
    leases/<id>.json, .lock            the artifacts a run at work needs, null before it has planned; the lock is held
                                       for as long as its process lives

While `prune` deletes, no run can begin or plan: both hold `prune.lock`.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout

from rollmill.errors import StoreError
from rollmill.ingest import STAGE as INGEST
from rollmill.ingest import ingest_key
from rollmill.keys import canonical_json
from rollmill.layouts import RolloutLayout
from rollmill.normalize import STAGE as NORMALIZE
from rollmill.plan import Plan
from rollmill.scans import STAGE as SCAN
from rollmill.scans import scan_key
from rollmill.store import FolderStore
from rollmill.verdicts import STAGE as VALIDATE

Artifacts = Mapping[str, list[str]]
"""Keys by stage."""

_WAIT_SECONDS: Final = 600


@dataclass(frozen=True, slots=True)
class Ref:
    """A version that was published from a store, and the artifacts it was made of. `path` is the ref's file."""

    destination: str
    pipeline: str
    number: int
    digest: str
    artifacts: Artifacts
    path: Path


@dataclass(frozen=True, slots=True)
class Lease:
    """A run at work: who and since when, and the artifacts it needs; None while it has not planned yet."""

    pipeline: str
    pid: int
    host: str
    since: str
    artifacts: Artifacts | None


def artifacts_of(plan: Plan) -> dict[str, list[str]]:
    """List the artifacts that a run of this plan finds or makes, one per file or unit."""
    found: dict[str, list[str]] = {INGEST: [], SCAN: []}
    for source in plan.sources:
        ingested = source.ingested
        for file in ingested.snapshot.files:
            found[INGEST].append(ingest_key(file))
            if isinstance(source.layout, RolloutLayout):
                found[SCAN].append(scan_key(source.name, file, source.layout, ingested.options))
    found[VALIDATE] = [unit.validate_key for unit in plan.units]
    found[NORMALIZE] = [unit.normalize_key for unit in plan.units]
    return found


class RunLease:
    """Keeps `prune` off the artifacts of a run, from `held` on until the process ends."""

    def __init__(self, store: FolderStore, path: Path, about: dict[str, Any]) -> None:
        self._store = store
        self._path = path
        self._about = about

    def needs(self, artifacts: Artifacts) -> None:
        """Say which artifacts the run needs, so that others may be pruned meanwhile."""
        with pruning_paused(self._store):
            _write(self._path, self._about | {"artifacts": dict(artifacts)})


@contextmanager
def held(store: FolderStore, pipeline: str) -> Iterator[RunLease]:
    """Hold a lease for the time of a run, and clear up after those that were killed.

    Raises StoreError if the store can't be written.
    """
    store.reap()
    folder = store.root / "leases"
    path = folder / f"{uuid.uuid4().hex}.json"
    about = {
        "pipeline": pipeline,
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
        "artifacts": None,
    }
    lock = FileLock(path.with_suffix(".lock"))
    with pruning_paused(store):
        live_leases(store)
        lock.acquire()
        _write(path, about)
    try:
        yield RunLease(store, path, about)
    finally:
        path.unlink(missing_ok=True)
        path.with_suffix(".lock").unlink(missing_ok=True)
        lock.release()


@contextmanager
def pruning_paused(store: FolderStore, *, timeout: float = _WAIT_SECONDS) -> Iterator[None]:
    """Keep others from pruning, leasing and planning for a moment. Raises StoreError if someone does so for long."""
    store.prepare()
    lock = FileLock(store.root / "prune.lock", timeout=timeout)
    try:
        with lock:
            yield
    except Timeout as error:
        raise StoreError(
            f"The store {store.root} has been locked by another process for {timeout:g} s. Try again later."
        ) from error


def live_leases(store: FolderStore) -> list[Lease]:
    """List the runs at work, and remove what those that were killed left. Call it with pruning paused."""
    leases = []
    for path in sorted((store.root / "leases").glob("*.json")):
        lock = FileLock(path.with_suffix(".lock"), timeout=0)
        try:
            with lock:
                path.unlink(missing_ok=True)
                path.with_suffix(".lock").unlink(missing_ok=True)
        except Timeout:
            with suppress(FileNotFoundError):
                leases.append(Lease(**json.loads(path.read_bytes())))
    return leases


def record_ref(
    store: FolderStore, destination: str, *, pipeline: str, number: int, digest: str, artifacts: Artifacts
) -> None:
    """Note that a version was published, and what it was made of."""
    folder = store.root / "refs" / hashlib.sha256(destination.encode()).hexdigest()[:16]
    about = {"destination": destination, "pipeline": pipeline, "number": number, "digest": digest}
    _write(folder / f"{digest}.json", about | {"artifacts": dict(artifacts)})


def refs(store: FolderStore) -> list[Ref]:
    """List all versions published from a store, by destination and number. Raises StoreError on a damaged one."""
    found = []
    for path in (store.root / "refs").glob("*/*.json"):
        try:
            found.append(Ref(**json.loads(path.read_bytes()), path=path))
        except (OSError, TypeError, ValueError) as error:
            raise StoreError(
                f"{path} can't be read ({error}): it says what a published version needs. Remove it if that version is "
                "no longer wanted, or publish again to write it anew.",
                file=str(path),
            ) from error
    return sorted(found, key=lambda ref: (ref.destination, ref.number))


def _write(path: Path, value: dict[str, Any]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{uuid.uuid4().hex}.draft")
        with draft.open("wb") as out:
            out.write(canonical_json(value))
            out.flush()
            os.fsync(out.fileno())
        draft.replace(path)
    except OSError as error:
        raise StoreError(f"The store can't be written: {path}: {error.strerror or error}.", file=str(path)) from error
