"""A folder as destination: immutable data files, kept versions, and one atomic replace that commits.

README.md       the card of the current version: what `load_dataset` follows
current.json    which version is current: replacing it is the commit
data/           parquet files, named by content, never changed or deleted here (but mended, if `verify` found damage)
versions/N-<digest[:12]>/   manifest.json, README.md, report.json of every version
.rollmill       whose destination this is, written first
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from filelock import FileLock, Timeout

from rollmill.errors import AccessError, DestinationConflictError
from rollmill.publish.card import render_card
from rollmill.publish.checks import check_conservation, check_growth
from rollmill.publish.current import Current, Outcome, marker_json, version_folder
from rollmill.publish.destination import Fetch, OnFile, ReportFor
from rollmill.publish.durable import copy_in, make_folder, sync_folder, write_atomic, writing
from rollmill.publish.holdings import are_whole, check_copy, damaged_paths, is_whole, note_damaged
from rollmill.publish.occupancy import (
    CURRENT,
    LOCK,
    MARKER,
    README,
    SCRATCH,
    check_owner,
    check_writable,
    read_current,
)
from rollmill.publish.readme import keep_edited, kept_readme, readme_fits, sha256
from rollmill.publish.version import DataFile, VersionManifest


class FolderDestination:
    """A dataset published to a folder.

    `lock_timeout` is how many seconds to wait for another publisher of the same folder.
    """

    def __init__(self, path: Path | str, *, lock_timeout: float = 60.0) -> None:
        self.path = Path(path)
        self._lock_timeout = lock_timeout
        self._scratch = self.path / SCRATCH

    @staticmethod
    def is_published(path: Path) -> bool:
        """Whether a folder looks like a published dataset."""
        return (path / CURRENT).is_file()

    def current(self) -> Current | None:
        """Tell which version is current. None if none is and the folder is free for a first one.

        ForeignDestinationError for a file or a folder with other content; AccessError if it can't be read.
        """
        return read_current(self.path)

    def check(self, pipeline: str) -> Current | None:
        """Like `current`, and refuse early what `publish` would: another pipeline's folder, or one not writable."""
        current = self._owned(pipeline)
        check_writable(self.path)
        return current

    def read_manifest(self, number: int | None = None) -> VersionManifest:
        """Read a version's manifest, the current one's without a number. AccessError if there is none, or damaged."""
        current = self.current()
        if current is None:
            raise self._no_version()
        return self._manifest(self._folder(current, current.number if number is None else number))

    def numbers(self) -> tuple[int, ...]:
        """List the numbers of all versions, oldest first. AccessError if there is none."""
        current = self.current()
        if current is None:
            raise self._no_version()
        return tuple(number for number, _ in current.history)

    def holds(self, manifest: VersionManifest) -> bool:
        """Tell whether all data files of a version are there, in full and not known to be damaged."""
        return are_whole(self.path, manifest.files)

    def note_damaged(self, paths: Collection[str]) -> None:
        """Note which data files have other bytes than they must, for the next run to copy again."""
        if paths or damaged_paths(self.path):
            with self._locked():
                note_damaged(self.path, paths, self._scratch)

    def data_path(self, file: DataFile) -> Path:
        """Tell where a data file lies."""
        return self.path / file.path

    def repair(self, pipeline: str) -> bool:
        """Make README.md name the current version, if an interrupted run left another there. True if it was changed.

        A README edited by hand that still names the current version is kept.
        """
        current = self._owned(pipeline)
        if current is None or readme_fits(self.path, current):
            return False
        with self._locked():
            current = self._owned(pipeline)
            return current is not None and self._repair(current)

    def publish(
        self,
        manifest: VersionManifest,
        report_for: ReportFor,
        fetch: Fetch,
        *,
        expected_parent: str | None,
        allow_shrink: bool = False,
        on_file: OnFile | None = None,
    ) -> Outcome:
        """Make this version current; nothing is written where it already is.

        `report_for` gives report.json for a version number; `fetch` gives the local path of a sha256;
        `expected_parent` is the digest of the version the plan was made against (None: none yet); `on_file` is called
        per data file with whether it was copied.

        ForeignDestinationError, AccessError, ShrinkError, NothingToReadError, ConservationError, StoreError;
        DestinationConflictError if another publisher moved the destination since the plan.
        Readers see the old version or the new one, whole.
        """
        check_conservation(manifest)
        current = self._owned(manifest.pipeline)
        if current is not None and current.digest == manifest.digest and self._whole(manifest, current):
            return Outcome(current.number, current.digest, unchanged=True, files_written=0, bytes_written=0)
        check_writable(self.path)
        make_folder(self.path)
        with self._locked():
            current = self._owned(manifest.pipeline)
            if current is not None:
                self._repair(current)
            unchanged = current is not None and current.digest == manifest.digest
            if not unchanged:
                self._check_parent(manifest, current, expected_parent, allow_shrink=allow_shrink)
            if current is None:
                write_atomic(self.path / MARKER, marker_json(manifest.pipeline), self._scratch)
            files, size = self._put_files(manifest, fetch, on_file)
            if current is None or not unchanged:
                current = self._commit(manifest, current, report_for)
            return Outcome(current.number, current.digest, unchanged, files, size)

    def rollback(self, pipeline: str, number: int) -> Outcome:
        """Make a kept version current again. AccessError if it, or one of its files, is not there any more."""
        if self.check(pipeline) is None:
            raise self._no_version()
        with self._locked():
            current = self._owned(pipeline)
            if current is None:
                raise self._no_version()
            self._repair(current)
            folder = self._folder(current, number)
            manifest = self._manifest(folder)
            damaged = damaged_paths(self.path)
            missing = [file.path for file in manifest.files if not is_whole(self.path, file, damaged)]
            if missing:
                raise AccessError(
                    f"Version {number} of {self.path} is not whole: {missing[0]} is missing or damaged.",
                    file=missing[0],
                )
            place = [known for known, _ in current.history].index(number)
            readme = self._kept_readme(folder, manifest, number)
            parent = current.history[place - 1][1] if place else None
            target = replace(
                current,
                number=number,
                digest=manifest.digest,
                manifest=f"{folder}/manifest.json",
                readme_sha256=sha256(readme),
                parent=parent,
            )
            self._switch(current, target, readme)
            return Outcome(
                number, manifest.digest, unchanged=number == current.number, files_written=0, bytes_written=0
            )

    def _owned(self, pipeline: str) -> Current | None:
        current = self.current()
        check_owner(self.path, current, pipeline)
        return current

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = FileLock(self.path / LOCK, timeout=self._lock_timeout)
        try:
            lock.acquire()
        except Timeout as error:
            raise DestinationConflictError(
                f"Another run has been publishing to {self.path} for {self._lock_timeout:g} s. "
                "Run again when it is done."
            ) from error
        except (OSError, NotImplementedError) as error:
            raise AccessError(f"The destination {self.path} can't be locked: {error}.", file=str(self.path)) from error
        try:
            shutil.rmtree(self._scratch, ignore_errors=True)
            yield
            shutil.rmtree(self._scratch, ignore_errors=True)
        finally:
            lock.release()

    def _check_parent(
        self, manifest: VersionManifest, current: Current | None, expected: str | None, *, allow_shrink: bool
    ) -> None:
        found = None if current is None else current.digest
        if found != expected:
            raise DestinationConflictError(
                f"The destination {self.path} moved while this run was at work: it was planned against "
                f"{_named(expected)} and finds {_named(found)}. Nothing was published; run again."
            )
        if current is not None and not allow_shrink:
            check_growth(self._manifest(self._folder(current, current.number)), manifest)

    def _put_files(self, manifest: VersionManifest, fetch: Fetch, on_file: OnFile | None) -> tuple[int, int]:
        files = size = 0
        folders: set[Path] = set()
        damaged = damaged_paths(self.path)
        for file in manifest.files:
            missing = not is_whole(self.path, file, damaged)
            if missing:
                target, source = self.data_path(file), fetch(file.sha256)
                if file.path in damaged:
                    check_copy(source, file)
                make_folder(target.parent)
                copy_in(source, target, file.bytes, self._scratch)
                folders.add(target.parent)
                files, size = files + 1, size + file.bytes
            if on_file is not None:
                on_file(file, missing)
        for folder in sorted(folders):
            with writing(folder):
                sync_folder(folder)
        if damaged:
            note_damaged(self.path, damaged - {file.path for file in manifest.files}, self._scratch)
        return files, size

    def _commit(self, manifest: VersionManifest, current: Current | None, report_for: ReportFor) -> Current:
        number = 1 if current is None else current.next_number
        folder = version_folder(number, manifest.digest)
        readme = render_card(manifest, number)
        report = report_for(number)
        if isinstance(report, dict):
            report = json.dumps(report, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        make_folder(self.path / folder)
        for name, data in (("report.json", report), (README, readme), ("manifest.json", manifest.to_json())):
            write_atomic(self.path / folder / name, data, self._scratch)
        new = Current(
            pipeline=manifest.pipeline,
            number=number,
            digest=manifest.digest,
            manifest=f"{folder}/manifest.json",
            readme_sha256=sha256(readme),
            parent=None if current is None else current.digest,
            history=(*(() if current is None else current.history), (number, manifest.digest)),
        )
        self._switch(current, new, readme)
        return new

    def _switch(self, current: Current | None, new: Current, readme: bytes) -> None:
        if current is not None:
            keep_edited(self.path, current, self._scratch)
        write_atomic(self.path / README, readme, self._scratch)
        write_atomic(self.path / CURRENT, new.to_json(), self._scratch)

    def _repair(self, current: Current) -> bool:
        if readme_fits(self.path, current):
            return False
        keep_edited(self.path, current, self._scratch)
        folder = self._folder(current, current.number)
        readme = self._kept_readme(folder, self._manifest(folder), current.number)
        write_atomic(self.path / README, readme, self._scratch)
        return True

    def _whole(self, manifest: VersionManifest, current: Current) -> bool:
        fits = not self._scratch.exists() and readme_fits(self.path, current)
        return fits and are_whole(self.path, manifest.files)

    def _folder(self, current: Current, number: int) -> str:
        digest = dict(current.history).get(number)
        if digest is None:
            known = ", ".join(str(known) for known, _ in current.history)
            raise AccessError(f"The destination {self.path} has no version {number}. It has: {known}.")
        return version_folder(number, digest)

    def _no_version(self) -> AccessError:
        return AccessError(f"The destination {self.path} has no version yet: publish one with `rollmill run`.")

    def _manifest(self, folder: str) -> VersionManifest:
        path = self.path / folder / "manifest.json"
        try:
            return VersionManifest.from_json(path.read_bytes())
        except (OSError, ValueError) as error:
            raise AccessError(
                f"The version manifest {path} can't be read: {error}. Bring it back from a backup.", file=str(path)
            ) from error

    def _kept_readme(self, folder: str, manifest: VersionManifest, number: int) -> bytes:
        return kept_readme(self.path, folder) or render_card(manifest, number)


def _named(digest: str | None) -> str:
    return "no version" if digest is None else f"version {digest[:12]}"
