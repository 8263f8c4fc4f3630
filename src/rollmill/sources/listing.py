"""The files under a folder: what may be data, and what is passed over and why. Nothing is opened."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from rollmill.errors import FileRefusedError, SourceMissingError
from rollmill.formats import split_ending
from rollmill.snapshot import Skipped
from rollmill.sources.natural import natural_key

CARD = "README.md"

_LEFTOVERS = (".lock", ".incomplete", ".tmp", ".crc", ".part", ".partial")
_NOTES = ("config.json", "dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json")


@dataclass(slots=True)
class Listing:
    """Paths relative to the root, POSIX style, in natural order; `sizes` in bytes for each path of a data file.

    `data` holds all files with the ending of a data format, those that can't be read included.
    """

    root: Path
    data: list[str] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    has_card: bool = False


@dataclass(slots=True)
class _Walk:
    listing: Listing
    real_root: str
    folders: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)


def list_folder(root: Path) -> Listing:
    """List a folder and all below it; links inside it are followed, each real file is listed once.

    Raises SourceMissingError for a folder that can't be listed, FileRefusedError for a name that is not UTF-8.
    """
    listing = Listing(root)
    walk = _Walk(listing, os.path.realpath(root))
    _walk_folder(walk, "")
    while walk.links:
        links, walk.links = sorted(walk.links, key=natural_key), []
        for path in links:
            _follow(walk, path)
    listing.data.sort(key=natural_key)
    listing.skipped.sort(key=lambda skipped: natural_key(skipped.path))
    return listing


def why_not_data(name: str) -> str | None:
    """Say why a file of this name is no data; None for one with the ending of a data format."""
    if name.startswith((".", "_")):
        return "hidden, temporary or marker file"
    if name.lower().endswith(_LEFTOVERS):
        return "left over from a writer or a download"
    if name in _NOTES:
        return "a note of a data library"
    return None if split_ending(name) else "no ending of a data format"


def _walk_folder(walk: _Walk, path: str) -> None:
    real = os.path.realpath(walk.listing.root / path)
    if real in walk.folders:
        walk.listing.skipped.append(Skipped(path, "link to a folder that is listed already"))
        return
    walk.folders.add(real)
    try:
        with os.scandir(walk.listing.root / path) as entries:
            found = list(entries)
    except OSError as error:
        raise SourceMissingError(
            f"The folder {walk.listing.root / path} can't be listed ({error.strerror}). Check its permissions.",
            file=path or None,
        ) from error
    for entry in found:
        inner = f"{path}/{entry.name}" if path else entry.name
        if entry.is_symlink():
            walk.links.append(inner)
        elif entry.is_dir():
            _enter(walk, inner)
        else:
            _take(walk, inner)


def _enter(walk: _Walk, path: str) -> None:
    if PurePosixPath(path).name.startswith((".", "_")):
        walk.listing.skipped.append(Skipped(path + "/", "hidden, temporary or marker folder"))
    else:
        _walk_folder(walk, path)


def _take(walk: _Walk, path: str) -> None:
    """List a file that is no link, or what a link leads to."""
    listing = walk.listing
    _check_utf8(path)
    if path == CARD:
        listing.has_card = True
        return
    why = why_not_data(PurePosixPath(path).name)
    if why is None:
        try:
            found = (listing.root / path).stat()
        except OSError as error:
            why = f"can't be looked at ({error.strerror})"
        else:
            why = None if stat.S_ISREG(found.st_mode) else "not a regular file"
    if why is not None:
        listing.skipped.append(Skipped(path, why))
        return
    walk.files.add(os.path.realpath(listing.root / path))
    listing.data.append(path)
    listing.sizes[path] = found.st_size


def _check_utf8(path: str) -> None:
    try:
        path.encode()
    except UnicodeEncodeError:
        shown = ascii(path)
        raise FileRefusedError(f"The file name {shown} is not UTF-8. Rename the file.", file=shown) from None


def _follow(walk: _Walk, path: str) -> None:
    real = os.path.realpath(walk.listing.root / path)
    why = None
    if real != walk.real_root and not real.startswith(walk.real_root.rstrip(os.sep) + os.sep):
        why = "link out of the folder"
    elif not Path(real).exists():
        why = "broken link"
    elif real in walk.files:
        why = "link to a file that is listed already"
    if why is not None:
        walk.listing.skipped.append(Skipped(path, why))
    elif Path(real).is_dir():
        _enter(walk, path)
    else:
        _take(walk, path)
