"""Units: what one piece of work reads and one artifact holds. A pure function of snapshot and pipeline file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from rollmill.formats.records import Inspection
from rollmill.snapshot import Snapshot, SourceFile

UNIT_BYTES: Final = 512 << 20
_CLOSE_ONE_IN: Final = 64

Looks = Sequence[tuple[SourceFile, Inspection]]


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or a range of its records: those numbered `first_row` on, `rows` of them.

    They lie in the row groups from `start` up to `stop`, and fill them unless the part is `cut`: then the first and
    last group may hold records of other parts too.
    """

    file: SourceFile
    start: int
    stop: int
    first_row: int
    rows: int
    cut: bool = False

    def key(self) -> list[str | int]:
        """What of the part decides bytes: never its path."""
        range_ = [self.first_row, self.rows] if self.cut else []
        return [self.file.sha256, self.file.ordinal, self.start, self.stop, *range_]


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


def cut_rollout_units(
    snapshot: Snapshot,
    inspection: Callable[[SourceFile], Inspection],
    cut_points: Callable[[str, str], Sequence[int]],
    *,
    unit_bytes: int = UNIT_BYTES,
) -> tuple[Unit, ...]:
    """Cut a snapshot into units of whole rollouts.

    `cut_points` gives, for a config and split, the positions of records at which a cut parts no rollout. A unit takes
    about `unit_bytes`, or more if a rollout does; it also ends at the first such position behind a file whose path
    hash says so.
    """
    units: list[Unit] = []
    for (config, split), files in _by_split(snapshot):
        looks = [(file, look) for file in files if (look := inspection(file)).rows]
        bounds = _bounds(looks, np.asarray(cut_points(config, split), dtype=np.int64), unit_bytes)
        for index, (start, stop) in enumerate(pairwise(bounds)):
            units.append(Unit(snapshot.name, config, split, index, tuple(_parts_between(looks, start, stop))))
    return tuple(units)


def _bounds(looks: Looks, points: np.ndarray[Any, Any], unit_bytes: int) -> list[int]:
    """Choose where units begin and end, as positions of records in the split."""
    ends = np.cumsum([0, *(look.rows for _, look in looks)])
    sizes = np.cumsum([0, *(max(look.decoded_bytes, 1) for _, look in looks)])
    closing = [int(end) for (file, _), end in zip(looks, ends[1:], strict=True) if _closes_pack(file.path)]
    total, bounds = int(ends[-1]), [0]
    while bounds[-1] < total:
        start = bounds[-1]
        full = int(np.interp(np.interp(start, ends, sizes) + unit_bytes, sizes, ends))
        within = points[(points > start) & (points <= full)]
        later = points[points > max(start, full)]
        end = total if full >= total else int(within[-1] if len(within) else later[0] if len(later) else total)
        for close in (c for c in closing if c > start):
            behind = points[points >= close]
            end = min(end, int(behind[0])) if len(behind) else end
            break
        bounds.append(end)
    return bounds


def _parts_between(looks: Looks, start: int, stop: int) -> Iterator[Part]:
    """Give the parts that hold the records of a split from one position up to another."""
    offset = 0
    for file, look in looks:
        first, last = max(start - offset, 0), min(stop - offset, look.rows)
        offset += look.rows
        if first >= last:
            continue
        if last - first == look.rows:
            yield Part(file, 0, max(len(look.groups), 1), 0, look.rows)
            continue
        ends = np.cumsum([group.rows for group in look.groups])
        groups = (int(np.searchsorted(ends, first, side="right")), int(np.searchsorted(ends, last, side="left")) + 1)
        yield Part(file, *groups, first, last - first, cut=True)


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
