"""What a person sees of sources, versions and stores."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from rich.markup import escape
from rich.table import Table

from rollmill.console import err, out
from rollmill.describe import Description
from rollmill.differences import SplitDifference
from rollmill.flows.status import SplitStatus, VersionStatus
from rollmill.lookup import FoundRow
from rollmill.pruning import Pruning
from rollmill.publish import VersionManifest
from rollmill.store import Manifest
from rollmill.verify import Verified

_SHOWN_CHARS: Final = 60
_LONGEST_CELL: Final = 400
_NUMBERS: Final = {"in", "published", "put aside", "before", "after", "added", "removed", "changed"}


def show_description(found: Description, uri: str) -> None:
    """Print a source's splits and columns, which layouts fit it, and a pipeline file to begin with."""
    for (config, split), rows in found.splits.items():
        out.print(f"{config}/{split}: {rows:,} records", markup=False, highlight=False)
    columns = ((one.name, one.type, f"{one.nulls:,}", _short(one.example)) for one in found.columns)
    out.print(_table(("column", "type", f"nulls in {found.sampled:,}", "example"), columns))
    for fit in found.fits:
        why = "fits" if fit.fits else "; ".join(fit.problems)
        out.print(f"layout {fit.layout}: {why}", markup=False, highlight=False)
    out.print(f"\nA pipeline file to begin with:\n\n{found.pipeline_file(uri)}", markup=False, highlight=False, end="")


def show_version(version: VersionManifest) -> None:
    """Print what a version is made of."""
    out.print(f"{version.pipeline}, version {version.digest[:12]}, schema {version.schema_version}", markup=False)
    lines = (
        (source.name, source.layout, f"{config}/{split}", *_counts(of.rows_in, of.rows_published, of.rows_quarantined))
        for source in version.sources
        for config, splits in source.splits.items()
        for split, of in splits.items()
    )
    out.print(_table(("source", "layout", "split", "in", "published", "put aside"), lines))
    for source in version.sources:
        at = f" at {source.revision[:12]}" if source.revision else ""
        out.print(f"{source.name} is {source.uri}{at}", markup=False, highlight=False)


def show_artifact(found: Manifest) -> None:
    """Print what an artifact is made of, and what was found; long facts are cut."""
    out.print(f"{found.stage} {found.key}", markup=False, highlight=False)
    for payload in found.payloads:
        what = f"  {payload.name}: {payload.rows:,} rows, {payload.bytes:,} bytes, objects/{payload.sha256}"
        out.print(what, markup=False, highlight=False)
    for parent in found.parents:
        out.print(f"  made from {parent}", markup=False, highlight=False)
    for name, value in (*found.facts.items(), *found.made.items()):
        out.print(f"  {name}: {_short(value, 2 * _SHOWN_CHARS)}", markup=False, highlight=False)


def show_row(found: FoundRow) -> None:
    """Print a row, and where it is from."""
    place = f"{found.uri}, {found.source_path}, record {found.source_row}"
    out.print(f"from {place}\nin   {found.file.path}", markup=False, highlight=False)
    for name, value in found.row.items():
        if value is not None:
            out.print(f"  {name}: {_short(value, 2 * _SHOWN_CHARS)}", markup=False, highlight=False)


def _counts(*counts: int) -> tuple[str, ...]:
    return tuple(f"{count:,}" for count in counts)


def _short(value: Any, most: int = _SHOWN_CHARS) -> str:
    """Write a value on one line, without what a terminal would take for a command."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    shown = "".join(c if c.isprintable() else " " for c in text[: most + 1])
    return shown if len(text) <= most else f"{shown[:most]}…"


def _table(names: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(name, justify="right" if name in _NUMBERS else "left", no_wrap=name != "why")
    for row in rows:
        table.add_row(*(escape(_short(cell, _LONGEST_CELL)) for cell in row))
    return table


def show_versions(found: list[VersionStatus], path: str) -> None:
    """Print the versions of a destination."""
    out.print(f"versions at {path}", markup=False, highlight=False)
    for one in found:
        mark = "*" if one.current else " "
        out.print(f"{mark} {one.number:>4}  {one.digest[:12]}  {one.rows:,} rows", markup=False, highlight=False)


def show_splits(found: list[SplitStatus]) -> None:
    """Print the state of each split."""
    if found:
        rows = ((one.source, one.config, one.split, one.state, one.why) for one in found)
        out.print(_table(("source", "config", "split", "state", "why"), rows))


def show_differences(found: list[SplitDifference]) -> None:
    """Print how two versions differ."""
    rows = (
        (one.source, one.config, one.split, *_counts(one.before, one.after, one.added, one.removed, one.changed))
        for one in found
    )
    out.print(_table(("source", "config", "split", "before", "after", "added", "removed", "changed"), rows))


def show_verified(found: Verified, path: str) -> None:
    """Print what was read, and what is damaged."""
    out.print(f"{found.files:,} files, {found.bytes / 1e6:,.1f} MB read at {path}", markup=False, highlight=False)
    for damage in found.damaged:
        err.print(f"damaged {damage.path}: {damage.what}", markup=False, highlight=False)
    if found.damaged:
        err.print("The next run makes or copies again what it can.", markup=False, highlight=False)


def show_pruning(found: Pruning) -> None:
    """Print what was deleted, and what stays."""
    done = "deleted" if found.deleted else "would be deleted"
    counts = f"{len(found.manifests):,} artifacts, {len(found.objects):,} payloads"
    out.print(f"{counts}, {found.bytes / 1e6:,.1f} MB {done}", markup=False, highlight=False)
    for ref in found.kept:
        what = f"kept: version {ref.number} of {ref.pipeline} at {ref.destination}"
        out.print(what, markup=False, highlight=False)
