"""One pass over a stream. An expression that fails on a batch is left out from there on; the others go on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import polars as pl

from rollmill.expectations.engine.metrics.narrow import SAMPLE_CHARS, Narrow, Sample, UnservedError

TALLY_BYTES: Final = 64 << 20
"""What a count of distinct values may hold."""

_COMPACT_FROM: Final = 1 << 16


class Sweep:
    """Projects batch after batch and collects."""

    def __init__(
        self, expressions: Mapping[str, pl.Expr], tallies: Mapping[str, pl.Expr], samples: Mapping[Sample, int]
    ) -> None:
        self._expressions = dict(expressions)
        self._counted = dict(tallies)
        self._rooms = dict(samples)
        self._kept: dict[Sample, list[dict[str, Any]]] = {sample: [] for sample in samples}
        self._tallies = {name: _Tally() for name in tallies}
        self._broken: dict[str, str] = {}
        self._rows = 0

    def over(self, batches: Iterable[pl.DataFrame]) -> Narrow:
        """Project and collect. The first batch may be empty; there is one."""
        frames = [self._take(batch) for batch in batches]
        frame = pl.concat([one.drop(self._broken, strict=False) for one in frames], rechunk=True)
        counts = {name: tally.whole() for name, tally in self._tallies.items() if name not in self._broken}
        return Narrow(self._rows, frame, counts, self._broken, self._kept)

    def _take(self, batch: pl.DataFrame) -> pl.DataFrame:
        try:
            narrow = batch.select(list(self._expressions.values()))
        except Exception:  # noqa: BLE001 - a Python function within may raise anything
            self._drop_failing(batch)
            narrow = batch.select(list(self._expressions.values()))
        for sample in self._kept:
            if sample.mask in self._expressions:
                self._sample(sample, batch, narrow[sample.mask])
        for name in list(self._counted):
            self._tally(name, batch)
        self._rows += batch.height
        return narrow

    def _drop_failing(self, batch: pl.DataFrame) -> None:
        for name, expression in list(self._expressions.items()):
            try:
                batch.select(expression)
            except Exception as error:  # noqa: BLE001
                self._break(name, error, batch)
        if not self._broken:
            raise UnservedError(f"The expressions fail together but not alone, in {self._where(batch)}.")

    def _tally(self, name: str, batch: pl.DataFrame) -> None:
        try:
            self._tallies[name].add(batch.select(self._counted[name]).to_series())
        except pl.exceptions.PolarsError as error:
            self._break(name, error, batch)
        except UnservedError as error:
            self._broken[name] = str(error)
            del self._counted[name]

    def _break(self, name: str, error: Exception, batch: pl.DataFrame) -> None:
        """Leave an expression out. The text of the error may quote records, so its kind is told only."""
        self._broken[name] = f"{type(error).__name__} in {self._where(batch)}"
        self._expressions.pop(name, None)
        self._counted.pop(name, None)

    def _where(self, batch: pl.DataFrame) -> str:
        return f"records {self._rows} to {self._rows + batch.height - 1} of the stream"

    def _sample(self, sample: Sample, batch: pl.DataFrame, mask: pl.Series) -> None:
        room = self._rooms[sample] - len(self._kept[sample])
        if room > 0 and mask.any():
            rows = batch.select(sample.columns)[mask.arg_true()[:room]].to_dicts()
            self._kept[sample] += [{name: shortened(value) for name, value in row.items()} for row in rows]


class _Tally:
    """How often values occurred so far. Counts are added up whenever there are twice as many as there were then."""

    def __init__(self) -> None:
        self._parts: list[pl.DataFrame] = []
        self._rows = 0
        self._full = _COMPACT_FROM

    def add(self, counts: pl.Series) -> None:
        """Add those of a batch. Raises UnservedError if there are too many values to hold."""
        self._parts.append(counts.struct.unnest())
        self._rows += len(counts)
        if self._rows >= self._full or sum(part.estimated_size() for part in self._parts) > TALLY_BYTES:
            whole = self.whole()
            self._parts, self._rows, self._full = [whole], whole.height, max(_COMPACT_FROM, 2 * whole.height)
            if whole.estimated_size() > TALLY_BYTES:
                raise UnservedError(f"Too many distinct values: {TALLY_BYTES >> 20} MiB of them can be counted.")

    def whole(self) -> pl.DataFrame:
        """Give each value once."""
        return pl.concat(self._parts).group_by("value").agg(pl.col("count").sum())


def shortened(value: Any) -> Any:
    """Cut a text, and what has no fixed size."""
    if isinstance(value, list | dict | bytes):
        value = str(value)
    return value[:SAMPLE_CHARS] if isinstance(value, str) else value
