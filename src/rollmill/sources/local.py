"""Local folders and files as sources. Files are listed and looked at, and opened by `digest` alone."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from rollmill.errors import NothingToReadError, SourceMissingError
from rollmill.formats import FORMATS_READ, split_ending
from rollmill.snapshot import Snapshot, SourceFile
from rollmill.sources.card import front_matter, listed_facts
from rollmill.sources.listing import CARD, Listing, list_folder
from rollmill.sources.selection import revision_of, select
from rollmill.sources.splits import Placed, place

Digest = Callable[[Path], str]
Each = Callable[[Digest, Sequence[Path]], Iterable[str]]


def resolve_local(
    uri: str,
    name: str,
    *,
    digest: Digest,
    each: Each = map,
    config: str | None = None,
    splits: Sequence[str] = (),
) -> Snapshot:
    """Resolve a folder or one file (a path taken literally, or file://…) to what it holds now.

    `config` and `splits` select; without them all are taken. `digest` gives the sha256 of a file, from an index where
    the file is unchanged: it is the only one to open data files; `each` maps it over files, perhaps in threads.

    Raises SourceMissingError for a path that is not
    there or can't be listed, NothingToReadError when no data file is found or selected, FileRefusedError for data in
    a format that is not read and for one stem in two formats, DataRefusedError for split names that can't be used.
    """
    path = local_path(uri)
    listing = _list(path, uri)
    card, facts, warnings = _card(listing)
    placement = place(listing.data, card)
    placed = select(placement, uri, config=config, splits=splits, skipped=listing.skipped)
    files = _with_digests(placed, listing, digest, each)
    return Snapshot(
        name=name,
        uri=uri,
        revision=revision_of(files),
        files=files,
        card=card,
        facts=facts,
        skipped=tuple(listing.skipped + placement.skipped),
        warnings=tuple(warnings + placement.warnings),
    )


def local_path(uri: str) -> Path:
    """Give the absolute path that a local URI names; only file:// URIs are unquoted."""
    if uri.startswith("file://"):
        path = Path(unquote(urlsplit(uri.replace("?", "%3F").replace("#", "%23")).path))
    else:
        path = Path(uri) if os.path.lexists(uri) else Path(os.path.expanduser(uri))  # noqa: PTH111  (leaves ~nobody)
    return Path(os.path.abspath(path))  # noqa: PTH100  (takes `..` out and keeps links)


def _list(path: Path, uri: str) -> Listing:
    try:
        if path.is_dir():
            return list_folder(path)
        found = path.stat()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise SourceMissingError(
            f"The source {uri} can't be opened ({why}). Check the path and its permissions."
        ) from error
    if not path.is_file() or split_ending(path.name) is None:
        raise NothingToReadError(f"The source {uri} is no data file. Read are {FORMATS_READ}.", file=path.name)
    return Listing(path.parent, [path.name], {path.name: found.st_size})


def _card(listing: Listing) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """Give the card's front matter, the facts it lists, and warnings."""
    if not listing.has_card:
        return {}, {}, []
    text = ""
    try:
        text = (listing.root / CARD).read_text("utf-8", errors="replace")
        return front_matter(text), listed_facts(text), []
    except OSError as error:
        why = f"can't be read ({error.strerror})"
    except ValueError as error:
        why = f"is broken: {error}"
    return {}, listed_facts(text), [f"{CARD} {why}; naming conventions are used."]


def _with_digests(placed: Sequence[Placed], listing: Listing, digest: Digest, each: Each) -> tuple[SourceFile, ...]:
    paths = list(dict.fromkeys(file.path for file in placed))
    sha256 = dict(zip(paths, each(digest, [listing.root / path for path in paths]), strict=True))
    seen: Counter[tuple[str, str, str]] = Counter()
    files = []
    for file in placed:
        same = (file.config, file.split, sha256[file.path])
        files.append(
            SourceFile(
                path=file.path,
                local=listing.root / file.path,
                size=listing.sizes[file.path],
                sha256=sha256[file.path],
                config=file.config,
                split=file.split,
                ordinal=seen[same],
            )
        )
        seen[same] += 1
    return tuple(files)
