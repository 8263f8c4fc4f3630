"""Reading a unit: its parts in order, batch by batch, with proof that no file changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from rollmill import formats
from rollmill.errors import FileRefusedError
from rollmill.formats.records import Inspection, Records
from rollmill.snapshot import SourceFile
from rollmill.units import Part, Unit

DigestOf = Callable[[Path], str]
"""Gives a file's sha256 at the price of a stat, if it did not change (see sources.index)."""

BATCH_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class PartRecords:
    """A batch, and which part of the unit it belongs to."""

    part_index: int
    part: Part
    records: Records


class UnitReader:
    """Iterates over a unit's batches; may be iterated again. `bytes_read` counts over all iterations."""

    def __init__(self, unit: Unit, inspections: Mapping[str, Inspection], digest: DigestOf) -> None:
        self._unit = unit
        self._inspections = inspections
        self._digest = digest
        self.bytes_read = 0

    def __iter__(self) -> Iterator[PartRecords]:
        """Read from the unit's first record. Raises FileRefusedError if a file changed."""
        for index, part in enumerate(self._unit.parts):
            yield from self._read_part(index, part)

    def _read_part(self, index: int, part: Part) -> Iterator[PartRecords]:
        file = part.file
        look = self._inspections[file.sha256]
        reader = formats.read(file.local, file.path, look, part.start, part.stop, batch_bytes=BATCH_BYTES)
        seen = 0
        for whole in reader:
            records = _within(whole, part) if part.cut else whole
            seen += len(records.rows) + len(records.rejects)
            yield PartRecords(index, part, records)
        self.bytes_read += reader.bytes_read
        verify_unchanged(file, self._digest)
        if seen != part.rows:
            raise FileRefusedError(
                f"{file.path} gave {seen} records where {part.rows} were counted before: it changed while reading. "
                "Run again when nothing writes to the source.",
                file=file.path,
            )


def _within(records: Records, part: Part) -> Records:
    """Leave out records of other parts."""
    last = part.first_row + part.rows - 1
    mine = pc.and_(pc.greater_equal(records.rows, part.first_row), pc.less_equal(records.rows, last))
    rejects = tuple(r for r in records.rejects if part.first_row <= r.row <= last)
    return Records(records.rows.filter(mine), records.data.filter(mine), rejects)


def verify_unchanged(file: SourceFile, digest: DigestOf) -> None:
    """Raise FileRefusedError if a file is no longer the one that was resolved."""
    if digest(file.local) != file.sha256:
        raise FileRefusedError(
            f"{file.path} changed while reading: its bytes are not those it had when the run began. Run again when "
            "nothing writes to the source.",
            file=file.path,
        )
