"""The narrow frame: what a suite needs to know of each record, at most 8 bytes per record and expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

SAMPLE_CHARS: Final = 256
SAMPLE_ROWS: Final = 200
"""Failing values that are kept per expectation at most: as many as Great Expectations keeps itself."""


class UnservedError(Exception):
    """A metric can't be computed: its column is not there or of another type, or the engine does not know it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Failing values to keep: `columns` of the first records where the narrow column `mask` is true."""

    mask: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Narrow:
    """The outcome of a pass: the narrow columns of all records in order, how often values occur, and samples.

    Each of `tallies` has a `value` and its `count` per line. `broken` says for a narrow column or tally that is missing
    why it could not be computed.
    """

    rows: int
    frame: pl.DataFrame
    tallies: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    samples: Mapping[Sample, list[dict[str, Any]]] = field(default_factory=dict)
    _masks: dict[str, pl.Series] = field(default_factory=dict)

    def column(self, name: str) -> pl.Series:
        """Give a narrow column. Raises UnservedError if it could not be computed."""
        self._raise_if_broken(name)
        return self.frame[name]

    def among(self, name: str, looked_at: str) -> pl.Series:
        """Give a narrow column of the records where another one is true."""
        return self.column(name).filter(self.column(looked_at))

    def tally(self, name: str) -> pl.DataFrame:
        """Give how often values occur. Raises UnservedError if they could not be computed or are too many."""
        self._raise_if_broken(name)
        return self.tallies[name]

    def once(self, name: str, mask: Callable[[], pl.Series]) -> pl.Series:
        """Give a mask, made when it is asked for first."""
        if name not in self._masks:
            self._masks[name] = mask()
        return self._masks[name]

    def spread(self, mask: pl.Series, considered: str) -> pl.Series:
        """Give a mask over the records of the narrow column `considered` as one over all records."""
        whole = pl.repeat(value=False, n=self.rows, dtype=pl.Boolean, eager=True)
        return whole.scatter(self.column(considered).arg_true().filter(mask), values=True)

    def _raise_if_broken(self, name: str) -> None:
        if name in self.broken:
            raise UnservedError(self.broken[name])


def first_paragraph(error: Exception) -> str:
    """Give what an error says in one line, without hints and plans."""
    return " ".join(str(error).split("\n\n")[0].split())
