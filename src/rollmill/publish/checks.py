"""What must hold before a version may be published. Values only, the same for every destination."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rollmill.errors import ConservationError, NothingToReadError, ShrinkError
from rollmill.publish.version import Counts, VersionManifest

_SHOWN = 10


def check_growth(parent: VersionManifest, new: VersionManifest) -> None:
    """Refuse a version that loses a split, or published records of a split, against its parent: ShrinkError."""
    losses = list(_losses(parent, new))
    if not losses:
        return
    more = f"; and {len(losses) - _SHOWN} more" if len(losses) > _SHOWN else ""
    raise ShrinkError(
        f"The new version would lose what the published one holds: {'; '.join(losses[:_SHOWN])}{more}. "
        "Nothing was published. If that is meant, run again with --allow-shrink."
    )


def check_conservation(manifest: VersionManifest) -> None:
    """Refuse a version that is empty (NothingToReadError) or whose counts don't add up (ConservationError).

    Per split: records in = published + put aside + dropped, and the rows of its files = rows written.
    """
    if not manifest.configs:
        raise NothingToReadError(f"There is no row to publish for the pipeline {manifest.pipeline!r}.")
    twice = next((path for path, times in Counter(file.path for file in manifest.files).items() if times > 1), None)
    if twice is not None:
        raise ConservationError(f"The data file {twice} is listed twice. Please report this.", file=twice)
    rows: Counter[tuple[str, str, str]] = Counter()
    for file in manifest.files:
        rows[file.source, file.config, file.split] += file.rows
    for source, config, split, counts in _splits(manifest):
        where = f"source {source!r}, config {config!r}, split {split!r}"
        out = counts.rows_published + counts.rows_quarantined + counts.rows_dropped
        if counts.rows_in != out:
            raise ConservationError(f"{where}: {counts.rows_in:,} records in, but {out:,} accounted for ({counts})")
        held = rows.pop((source, config, split), 0)
        if counts.rows_written != held:
            raise ConservationError(f"{where}: {counts.rows_written:,} rows written, but its files hold {held:,}")
    if rows:
        raise ConservationError(f"Files of {next(iter(rows))} are listed, but no source has that split. Report this.")


def _losses(parent: VersionManifest, new: VersionManifest) -> Iterator[str]:
    held = {(source, config, split): counts.rows_published for source, config, split, counts in _splits(new)}
    for source, config, split, counts in _splits(parent):
        before, after = counts.rows_published, held.get((source, config, split))
        where = f"source {source!r}, config {config!r}, split {split!r}"
        if after is None and before:
            yield f"{where} ({before:,} records) is gone"
        elif after is not None and after < before:
            yield f"{where} had {before:,} published records and would have {after:,}"


def _splits(manifest: VersionManifest) -> Iterator[tuple[str, str, str, Counts]]:
    for source in manifest.sources:
        for config, splits in source.splits.items():
            for split, counts in splits.items():
                yield source.name, config, split, counts
