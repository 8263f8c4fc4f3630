"""What differs between two versions of a published dataset: rows added, removed, changed. No text is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from rollmill.errors import AccessError
from rollmill.publish import DataFile, FolderDestination, SourceEntry, VersionManifest

Place = tuple[str, str, str]
"""Source, config and split, raw names."""

_ROW: Final = ("source_row_hash", "step_idx", "candidate_idx")
_COLUMNS: Final = pl.Schema({"row": pl.UInt64(), "content": pl.UInt64(), "at": pl.UInt64()})


@dataclass(frozen=True, slots=True)
class SplitDifference:
    """One split of a source in two versions: its rows before and after, and how they differ.

    `changed` counts rows whose source row has another content at the same place of the same file, and rows of an equal
    source row that were normalized to another content.
    """

    source: str
    config: str
    split: str
    before: int
    after: int
    added: int
    removed: int
    changed: int

    @property
    def same(self) -> int:
        """Rows that are in both."""
        return self.after - self.added - self.changed


def differences(destination: FolderDestination, before: int, after: int) -> list[SplitDifference]:
    """Compare two versions, split by split, in reading order. Data files that both have are not opened.

    Raises AccessError if a version, its manifest or a data file is not there.
    """
    old, new = destination.read_manifest(before), destination.read_manifest(after)
    olds, news = _by_place(old), _by_place(new)
    return [_compare(destination, place, olds, news, (old, new)) for place in {**news, **olds}]


def _by_place(version: VersionManifest) -> dict[Place, list[DataFile]]:
    places: dict[Place, list[DataFile]] = {}
    for file in version.files:
        places.setdefault((file.source, file.config, file.split), []).append(file)
    return places


def _compare(
    destination: FolderDestination,
    place: Place,
    olds: Mapping[Place, list[DataFile]],
    news: Mapping[Place, list[DataFile]],
    versions: tuple[VersionManifest, VersionManifest],
) -> SplitDifference:
    before, after = olds.get(place, []), news.get(place, [])
    shared = {file.path for file in before} & {file.path for file in after}
    old = _rows(destination, [f for f in before if f.path not in shared], _paths(versions[0], place))
    new = _rows(destination, [f for f in after if f.path not in shared], _paths(versions[1], place))
    old, new, _ = _without_pairs(old, new, ["row", "content"])
    old, new, rebuilt = _without_pairs(old, new, ["row"])
    old, new, rewritten = _without_pairs(old, new, ["at"])
    return SplitDifference(
        *place,
        before=sum(file.rows for file in before),
        after=sum(file.rows for file in after),
        added=new.height,
        removed=old.height,
        changed=rebuilt + rewritten,
    )


def _paths(version: VersionManifest, place: Place) -> dict[str, str]:
    """Give the path of each source file of a split, by digest."""
    source, config, split = place
    entry = next((entry for entry in version.sources if entry.name == source), None)
    return _paths_of(entry, config, split) if entry else {}


def _paths_of(entry: SourceEntry, config: str, split: str) -> dict[str, str]:
    return {
        digest: str(of["path"])
        for digest, listed in entry.files.items()
        for of in reversed(listed)
        if (of["config"], of["split"]) == (config, split)
    }


def _rows(destination: FolderDestination, files: Iterable[DataFile], paths: Mapping[str, str]) -> pl.DataFrame:
    """Give per row 8 bytes that stand for its source row, its content and its place in the source."""
    places = [destination.data_path(file) for file in files]
    if not places:
        return pl.DataFrame(schema=_COLUMNS)
    path = pl.col("source_digest").replace_strict(paths, default=pl.col("source_digest"), return_dtype=pl.String)
    try:
        return (
            pl.scan_parquet(places)
            .select(
                row=pl.struct(_ROW).hash(1),
                content=pl.col("content_id").hash(2),
                at=pl.struct(path, "source_row", "step_idx", "candidate_idx").hash(3),
            )
            .collect(engine="streaming")
        )
    except FileNotFoundError as error:
        raise AccessError(f"A data file of the version is missing: {error}", file=str(error.filename)) from error


def _without_pairs(old: pl.DataFrame, new: pl.DataFrame, on: list[str]) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """Take equal rows out of both, one for one. Gives what is left, and how many pairs there were."""
    nth = pl.int_range(pl.len()).over(on).alias("nth")
    numbered_old, numbered_new = old.with_columns(nth), new.with_columns(nth)
    left = numbered_old.join(numbered_new, on=[*on, "nth"], how="anti").drop("nth")
    right = numbered_new.join(numbered_old, on=[*on, "nth"], how="anti").drop("nth")
    return left, right, old.height - left.height
