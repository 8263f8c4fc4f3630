"""Where Data Docs are in the store: `docs/<pipeline>/<digest of the verdicts>/index.html`. Light to import."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from rollmill.keys import digest_of
from rollmill.store import FolderStore

FORM: Final = 1
"""The version of the pages' form; raised when they shall be rendered anew."""


def index_path(store: FolderStore, pipeline: str, keys: Iterable[str]) -> Path:
    """Give where the index over the verdicts with these keys is, or would be: the same verdicts, the same place."""
    digest = digest_of([FORM, sorted(keys)])
    return store.root / "docs" / pipeline / digest[:16] / "index.html"


def existing_index(store: FolderStore, pipeline: str, keys: Iterable[str]) -> str | None:
    """Give the index over these verdicts; None if it was not made or is gone."""
    path = index_path(store, pipeline, keys)
    return str(path) if path.exists() else None


def page_path(store: FolderStore, key: str) -> Path:
    """Give where the page of a verdict is kept, for the sites of all runs."""
    return store.root / "docs" / "pages" / f"{FORM}-{key}.html"
