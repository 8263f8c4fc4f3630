"""Files: what the card's `configs` name and what the files' own names promise, against the files there are."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from rollmill.declared.comparison import Comparison, Declarer
from rollmill.declared.held import Held, prefix
from rollmill.snapshot import SourceFile
from rollmill.sources.globs import matching
from rollmill.sources.splits import declared_files

_SHARD: Final = re.compile(r"(.*)-(\d{1,9})-of-(\d{1,9})(\.[^/]*)")


def compare_files(held: Held) -> Iterator[Comparison]:
    """Give the patterns of the card that match no file, and per set of numbered files how many of them are there."""
    yield from _unmatched(held)
    for (config, split), files in held.files.items():
        yield from _compare_shards(held, f"{prefix(config)}{split}", files)


def _unmatched(held: Held) -> Iterator[Comparison]:
    card = Declarer(held.snapshot.name)
    for config, split, pattern, folder in declared_files(held.snapshot.card):
        if not held.reads(config, split):
            continue
        paths = [file.path for file in held.files.get((config, split), [])]
        if not matching(pattern, paths, base=folder):
            yield card.compare(f"{prefix(config)}{split}.data_files", pattern, None, "files")


def _compare_shards(held: Held, split: str, files: list[SourceFile]) -> Iterator[Comparison]:
    shards: dict[tuple[str, str, int], dict[int, str]] = defaultdict(dict)
    for file in files:
        if found := _SHARD.fullmatch(file.path):
            stem, index, total, ending = found.groups()
            shards[stem, ending, int(total)].setdefault(int(index), file.path)
    for (_, _, total), there in shards.items():
        if total != 1 or len(there) != 1:
            first = there[min(there)]
            yield Declarer(held.snapshot.name, first).compare(f"{split}.files", total, len(there), "numbered files")
