"""Units: what one piece of work reads and one artifact holds. A pure function of snapshot and pipeline file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from rollmill.formats.records import Inspection
from rollmill.snapshot import Snapshot, SourceFile

UNIT_BYTES: Final = 512 << 20
_CLOSE_ONE_IN: Final = 64


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or a range of its row groups: `first_row` is the record number of the range's first record."""

    file: SourceFile
    start: int
    stop: int
    first_row: int
    rows: int

    def key(self) -> list[str | int]:
        """What of the part decides bytes: never its path."""
        return [self.file.sha256, self.file.ordinal, self.start, self.stop]


@dataclass(frozen=True, slots=True)
class Unit:
    """Parts of one config and split, read in order. `index` counts units within the split."""

    source: str
    config: str
    split: str
    index: int
    parts: tuple[Part, ...]

    @property
    def rows(self) -> int:
        """Records in all parts."""
        return sum(part.rows for part in self.parts)

    @property
    def name(self) -> str:
        """Name the unit to people."""
        return f"{self.source}/{self.config}/{self.split}#{self.index}"


def cut_units(
    snapshot: Snapshot, inspection: Callable[[SourceFile], Inspection], *, unit_bytes: int = UNIT_BYTES
) -> tuple[Unit, ...]:
    """Cut a snapshot into units.

    A file with several row groups above `unit_bytes` is cut into ranges; small files of a split are packed in order
    up to `unit_bytes`. A pack also closes at a file whose path hash says so, so that a file inserted in the middle
    disturbs only its neighbours. Files without records make no unit of their own.
    """
    units: list[Unit] = []
    for (config, split), files in _by_split(snapshot):
        for index, parts in enumerate(_packs(files, inspection, unit_bytes)):
            units.append(Unit(snapshot.name, config, split, index, parts))
    return tuple(units)


def _by_split(snapshot: Snapshot) -> Iterator[tuple[tuple[str, str], list[SourceFile]]]:
    groups: dict[tuple[str, str], list[SourceFile]] = {}
    for file in snapshot.files:
        groups.setdefault((file.config, file.split), []).append(file)
    yield from groups.items()


def _packs(
    files: list[SourceFile], inspection: Callable[[SourceFile], Inspection], unit_bytes: int
) -> Iterator[tuple[Part, ...]]:
    pack: list[Part] = []
    size = 0
    for file in files:
        look = inspection(file)
        if look.rows == 0:
            continue
        if pack and size + look.decoded_bytes > unit_bytes:
            yield tuple(pack)
            pack, size = [], 0
        if look.decoded_bytes > unit_bytes and len(look.groups) > 1:
            yield from ((part,) for part in _ranges(file, look, unit_bytes))
            continue
        pack.append(Part(file, 0, max(len(look.groups), 1), 0, look.rows))
        size += look.decoded_bytes
        if _closes_pack(file.path):
            yield tuple(pack)
            pack, size = [], 0
    if pack:
        yield tuple(pack)


def _closes_pack(path: str) -> bool:
    return int.from_bytes(hashlib.sha256(path.encode()).digest()[:4]) % _CLOSE_ONE_IN == 0


def _ranges(file: SourceFile, look: Inspection, unit_bytes: int) -> Iterator[Part]:
    start, first_row, rows, size = 0, 0, 0, 0
    for i, group in enumerate(look.groups):
        if rows and size + group.bytes > unit_bytes:
            yield Part(file, start, i, first_row, rows)
            start, first_row, rows, size = i, first_row + rows, 0, 0
        rows += group.rows
        size += group.bytes
    if rows:
        yield Part(file, start, len(look.groups), first_row, rows)
