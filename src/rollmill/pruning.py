"""Delete from a store what no published version and no run at work needs any more."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from rollmill.errors import StoreError
from rollmill.roots import Artifacts, Lease, Ref, live_leases, pruning_paused, refs
from rollmill.store import FolderStore, Manifest

DAY: Final = 86_400.0
_KEY: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Pruning:
    """What can be deleted, and what must stay. `bytes` counts those of all artifacts and payloads that can go.

    `pages` are Data Docs of verdicts that are gone or can go: pages, and the folders of runs that show them.
    """

    manifests: tuple[Path, ...]
    objects: tuple[Path, ...]
    refs: tuple[Path, ...]
    pages: tuple[Path, ...]
    bytes: int
    kept: tuple[Ref, ...]
    deleted: bool


def prune(store: FolderStore, *, keep: int | None = None, grace: float = DAY, dry_run: bool = False) -> Pruning:
    """Delete artifacts without a root, and payloads without an artifact, all of them older than `grace` seconds.

    Roots are the versions published from the store (of each destination the last `keep` only, if given) and the runs
    at work. Manifests go first, so that no artifact is ever seen without its payloads. Interrupted, the next call goes
    on. Raises StoreError while a run at work has not planned yet: everything may be what it needs.
    """
    with pruning_paused(store):
        leases = live_leases(store)
        _refuse_unplanned(leases, store)
        found = _find(store, leases, keep, grace, deleted=not dry_run)
        if not dry_run:
            for path in (*found.refs, *found.manifests, *found.objects):
                path.unlink(missing_ok=True)
            for path in found.pages:
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    return found


def _refuse_unplanned(leases: list[Lease], store: FolderStore) -> None:
    unplanned = next((lease for lease in leases if lease.artifacts is None), None)
    if unplanned is not None:
        raise StoreError(
            f"A run of {unplanned.pipeline!r} (process {unplanned.pid} on {unplanned.host}, since {unplanned.since}) "
            f"is looking at its sources, and may need anything in the store {store.root}. Prune again in a moment."
        )


def _find(store: FolderStore, leases: list[Lease], keep: int | None, grace: float, *, deleted: bool) -> Pruning:
    old = _older_than(time.time() - grace)
    published = refs(store)
    kept = published if keep is None else _latest(published, keep)
    roots = _keys([*(ref.artifacts for ref in kept), *(lease.artifacts or {} for lease in leases)])
    staying: list[Path] = []
    going: list[Path] = []
    for path in store.manifest_paths():
        needed = (path.parent.name, path.stem) in roots
        (staying if needed or not old(path) else going).append(path)
    held = {payload.sha256 for path in staying for payload in _manifest(path).payloads}
    objects = [path for path in (store.root / "objects").iterdir() if path.name not in held and old(path)]
    return Pruning(
        manifests=tuple(going),
        objects=tuple(sorted(objects)),
        refs=tuple(ref.path for ref in published if ref not in kept),
        pages=_pages(store, {path.stem for path in staying}, old),
        bytes=sum(path.stat().st_size for path in (*going, *objects)),
        kept=tuple(kept),
        deleted=deleted,
    )


def _pages(store: FolderStore, keys: set[str], old: Callable[[Path], bool]) -> tuple[Path, ...]:
    """Find Data Docs that no verdict stands behind: a page has its key in its name."""
    docs = store.root / "docs"
    bare = [path for path in docs.rglob("pages/*.html") if not keys & set(_KEY.findall(path.stem)) and old(path)]
    shared = docs / "pages"
    return tuple(sorted({path if path.parent == shared else path.parents[1] for path in bare}))


def _keys(roots: Iterable[Artifacts]) -> set[tuple[str, str]]:
    return {(stage, key) for artifacts in roots for stage, keys in artifacts.items() for key in keys}


def _latest(published: list[Ref], keep: int) -> list[Ref]:
    groups = groupby(published, key=lambda ref: ref.destination)
    return [ref for _, of in groups for ref in list(of)[-keep:]]


def _older_than(limit: float) -> Callable[[Path], bool]:
    return lambda path: path.stat().st_mtime < limit


def _manifest(path: Path) -> Manifest:
    try:
        return Manifest.from_json(path.read_bytes())
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise StoreError(
            f"The manifest {path} is damaged ({error}). Run `rollmill verify` on the store first.", file=str(path)
        ) from error
