"""What every kind of destination offers: a folder now, a bucket and the Hub over the same values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from rollmill.publish.current import Current, Outcome
from rollmill.publish.version import DataFile, VersionManifest

ReportFor = Callable[[int], bytes | dict[str, Any]]
"""Gives report.json for the number a version gets."""
Fetch = Callable[[str], Path]
"""Gives the local path of a data file by its sha256."""
OnFile = Callable[[DataFile, bool], None]
"""Is told of each data file, and whether it had to be written."""


class Destination(Protocol):
    """Where versions of one pipeline's dataset are published. Errors: see `FolderDestination`."""

    def current(self) -> Current | None:
        """Tell which version is current; None if a first one may be published."""

    def check(self, pipeline: str) -> Current | None:
        """Like `current`, and refuse early what `publish` would refuse."""

    def read_manifest(self, number: int | None = None) -> VersionManifest:
        """Read a version's manifest, the current one's without a number."""

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
        """Make this version current in one step."""

    def rollback(self, pipeline: str, number: int) -> Outcome:
        """Make a kept version current again."""
