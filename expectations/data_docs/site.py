"""Builds the Data Docs of a run: pages of verdicts that have none yet, and a folder that links the run's pages."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rollmill.expectations.data_docs.place import index_path, page_path
from rollmill.plan import UnitPlan
from rollmill.store import FolderStore, Manifest, writing

if TYPE_CHECKING:
    from rollmill.expectations.data_docs.pages import Pages


@dataclass(frozen=True)
class Entry:
    """A line of the index, and the page it leads to.

    `key` names the page. `records` were judged; `failing` of them have a reason to be put aside; both are None where
    the whole dataset was judged. `result` is what a suite found, as `rollmill.expectations.engine.session` gives it.
    """

    key: str
    name: str
    records: int | None
    failing: int | None
    result: dict[str, Any]

    @property
    def page(self) -> str:
        """The page, seen from the index."""
        return f"pages/{self.key}.html"

    @property
    def failed(self) -> Counter[str]:
        """Expectations that do not hold, by severity, and those that could not be judged, as `unjudged`."""
        failed = [one for one in self.result["results"] if not one["success"]]
        return Counter("unjudged" if one["error"] else one["expectation_config"]["severity"] for one in failed)


def entries_of(verdicts: Iterable[tuple[UnitPlan, Manifest]], dataset: Manifest | None) -> list[Entry]:
    """Give the lines for the verdicts of a run: its units, and the dataset if it came to that."""
    entries = [_of_unit(plan, verdict) for plan, verdict in verdicts]
    if dataset is None:
        return entries
    found = enumerate(dataset.facts["results"])
    return entries + [Entry(f"{dataset.key}-{i}", result["name"], None, None, result) for i, result in found]


def _of_unit(plan: UnitPlan, verdict: Manifest) -> Entry:
    parts = verdict.facts["parts"].values()
    return Entry(
        key=verdict.key,
        name=plan.unit.name,
        records=sum(part["read"] for part in parts),
        failing=sum(sum(part["reasons"].values()) for part in parts),
        result=verdict.facts["result"],
    )


def build_site(store: FolderStore, pipeline: str, entries: Sequence[Entry]) -> Path:
    """Make the site of these entries, or find it made. Gives its index. Raises StoreError if that can't be written."""
    index = index_path(store, pipeline, [entry.key for entry in entries])
    if index.exists():
        return index
    from rollmill.expectations.data_docs.pages import Pages

    pages = Pages()
    _render_missing(store, entries, pages)
    with store.scratch() as folder, writing(store.root):
        (folder / "site" / "pages").mkdir(parents=True)
        for entry in entries:
            os.link(page_path(store, entry.key), folder / "site" / entry.page)
        (folder / "site" / index.name).write_text(pages.index(pipeline, entries), encoding="utf-8")
        index.parent.parent.mkdir(parents=True, exist_ok=True)
        _move(folder / "site", index.parent)
    return index


def _render_missing(store: FolderStore, entries: Iterable[Entry], pages: Pages) -> None:
    with store.scratch() as folder, writing(store.root):
        for entry in entries:
            path = page_path(store, entry.key)
            if path.exists():
                continue
            draft = folder / path.name
            draft.write_text(pages.page(entry.name, entry.result), encoding="utf-8")
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.replace(path)


def _move(site: Path, target: Path) -> None:
    """Put the site in place; another run that was first has made the same one."""
    try:
        site.rename(target)
    except OSError:
        if not (target / "index.html").exists():
            raise
