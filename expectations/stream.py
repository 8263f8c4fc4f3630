"""What is judged: batches of consecutive records, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import polars as pl


class FrameStream(Protocol):
    """Batches of consecutive records, each with the columns of `schema`; every iteration starts at the first record."""

    schema: pl.Schema
    """The columns of every batch."""

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """Read from the first record on."""
        ...


@dataclass
class Frames:
    """A stream over frames that are in memory already."""

    schema: pl.Schema
    frames: Sequence[pl.DataFrame] = ()

    def __iter__(self) -> Iterator[pl.DataFrame]:
        return iter(self.frames)
