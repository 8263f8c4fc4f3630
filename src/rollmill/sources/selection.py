"""Which of the placed files a run reads, and what stands against reading them. The same for every kind of source."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import PurePosixPath

from rollmill.errors import FileRefusedError, NothingToReadError
from rollmill.formats import FORMATS_READ, split_ending
from rollmill.snapshot import Skipped, SourceFile
from rollmill.sources.splits import Placed, Placement, check_names

_SHOWN = 10


def select(
    placement: Placement, uri: str, *, config: str | None, splits: Sequence[str], skipped: Sequence[Skipped] = ()
) -> list[Placed]:
    """Give the placed files that a config (None: all) and splits (empty: all) select, if they can be read.

    `skipped` is what the listing passed over, for the message. Raises NothingToReadError when nothing is there or a
    selected split is not, FileRefusedError for one stem in two formats of one config and for formats that are not
    read, DataRefusedError for names that can't be published.
    """
    if not placement.files:
        raise NothingToReadError(_nothing_found(uri, skipped))
    placed = [
        file
        for file in placement.files
        if (config is None or file.config == config) and (not splits or file.split in splits)
    ]
    missing = [split for split in splits if split not in {file.split for file in placed}]
    if not placed or missing:
        there = ", ".join(dict.fromkeys(f"{file.config}/{file.split}" for file in placement.files))
        wanted = ", ".join(f"{'*' if config is None else config}/{split}" for split in missing or ["*"])
        raise NothingToReadError(f"The source {uri} has no {wanted} (config/split). It has {there}.")
    check_names(placed)
    _refuse_two_formats(placed)
    _refuse_unread(placed)
    return placed


def _nothing_found(uri: str, skipped: Sequence[Skipped]) -> str:
    seen = "; ".join(f"{entry.path} ({entry.why})" for entry in skipped[:_SHOWN])
    more = f"; and {len(skipped) - _SHOWN} more" if len(skipped) > _SHOWN else ""
    return f"The source {uri} has no data file. Read are {FORMATS_READ}. " + (
        f"Passed over: {seen}{more}." if seen else "The folder is empty."
    )


def _refuse_two_formats(placed: Sequence[Placed]) -> None:
    stems: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for file in placed:
        found = split_ending(file.path)
        if found is not None:
            stems[(file.config, str(PurePosixPath(file.path).parent), found.stem)].add(file.path)
    twice = [sorted(paths) for paths in stems.values() if len(paths) > 1]
    if twice:
        more = f" (and {len(twice) - 1} more such names)" if len(twice) > 1 else ""
        raise FileRefusedError(
            f"{' and '.join(twice[0])} have one name in several formats{more}, so they may hold the same rows twice."
            " Choose one: remove the others, or name the files to read in the `configs` block of README.md.",
            file=twice[0][0],
        )


def _refuse_unread(placed: Sequence[Placed]) -> None:
    unread = [file.path for file in placed if (found := split_ending(file.path)) is None or not found.readable]
    if unread:
        more = f" and {len(unread) - _SHOWN} more" if len(unread) > _SHOWN else ""
        raise FileRefusedError(
            f"Data in a format that is not read: {', '.join(unread[:_SHOWN])}{more}. Read are {FORMATS_READ}."
            " Convert these files, or leave them out: move them away, or name the files to read in the `configs` block"
            " of README.md.",
            file=unread[0],
        )


def revision_of(files: Sequence[SourceFile]) -> str:
    """Give the digest over all paths and their sha256: the same files are the same revision."""
    pairs = sorted({(file.path, file.sha256) for file in files})
    return hashlib.sha256("".join(f"{path}\0{sha256}\n" for path, sha256 in pairs).encode()).hexdigest()
