"""The narrow frame: what a suite needs to know of each record, at most 8 bytes per record and expression."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

SAMPLE_ROWS: Final = 20
SAMPLE_CHARS: Final = 256


class UnservedError(Exception):
    """A metric can't be computed: its column is not there or of another type, or the engine does not know it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Failing values to keep: `columns` of the first SAMPLE_ROWS records where the narrow column `mask` is true."""

    mask: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Narrow:
    """The outcome of a pass: the narrow columns of all records in order, and the samples.

    `broken` says for a narrow column that is missing why it could not be computed.
    """

    rows: int
    frame: pl.DataFrame
    broken: Mapping[str, str] = field(default_factory=dict)
    samples: Mapping[str, list[Any]] = field(default_factory=dict)
    _duplicates: dict[tuple[str, str], pl.Series] = field(default_factory=dict)

    def column(self, name: str) -> pl.Series:
        """Give a narrow column. Raises UnservedError if it could not be computed."""
        if name in self.broken:
            raise UnservedError(self.broken[name])
        return self.frame[name]

    def duplicated(self, key: str, considered: str) -> pl.Series:
        """Give the records whose key another one has too, among those of the narrow column `considered`."""
        if (key, considered) not in self._duplicates:
            among = self.column(considered).arg_true()
            again = among.filter(self.column(key).gather(among).is_duplicated())
            mask = pl.repeat(value=False, n=self.rows, dtype=pl.Boolean, eager=True)
            self._duplicates[key, considered] = mask.scatter(again, values=True)
        return self._duplicates[key, considered]


class Projection:
    """The narrow expressions of a suite over one schema. `project` works record by record, whatever the batches."""

    def __init__(self, schema: pl.Schema) -> None:
        self.schema = schema
        self.rows_needed = False
        self._empty = pl.DataFrame(schema=schema)
        self._expressions: dict[str, pl.Expr] = {}
        self._samples: dict[str, Sample] = {}

    def require(self, column: str) -> pl.DataType:
        """Give a column's type. Raises UnservedError naming the columns there are."""
        if column not in self.schema:
            raise UnservedError(f"There is no column {column!r}. The columns are: {', '.join(self.schema) or 'none'}.")
        return self.schema[column]

    def add(self, name: str, expression: pl.Expr) -> str:
        """Add an expression, tried on no rows, so that a wrong type or a bad regex shows before the pass."""
        if name not in self._expressions:
            try:
                self._empty.select(expression.alias(name))
            except pl.exceptions.PolarsError as error:
                raise UnservedError(_first_paragraph(error)) from None
            self._expressions[name] = expression.alias(name)
            self.rows_needed = True
        return name

    def keep_sample(self, mask: str, columns: tuple[str, ...]) -> None:
        """Ask for failing values."""
        self._samples[mask] = Sample(mask, columns)

    def project(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Give the narrow columns of a batch."""
        return batch.select(list(self._expressions.values()))

    def sweep(self, batches: Iterable[pl.DataFrame]) -> Narrow:
        """Go over the stream once."""
        return _Sweep(self._expressions, tuple(self._samples.values())).over(batches)


class _Sweep:
    """One pass. An expression that fails on a batch is left out from there on; the others go on."""

    def __init__(self, expressions: Mapping[str, pl.Expr], samples: tuple[Sample, ...]) -> None:
        self._expressions = dict(expressions)
        self._samples = samples
        self._kept: dict[str, list[Any]] = {sample.mask: [] for sample in samples}
        self._broken: dict[str, str] = {}
        self._rows = 0

    def over(self, batches: Iterable[pl.DataFrame]) -> Narrow:
        """Project and collect."""
        frames = [self._take(batch) for batch in batches]
        whole = [frame.drop(self._broken, strict=False) for frame in frames]
        frame = pl.concat(whole, rechunk=True) if whole else self._without_rows()
        return Narrow(self._rows, frame, self._broken, self._kept)

    def _without_rows(self) -> pl.DataFrame:
        return pl.DataFrame(schema=dict.fromkeys(self._expressions, pl.Boolean))

    def _take(self, batch: pl.DataFrame) -> pl.DataFrame:
        try:
            narrow = batch.select(list(self._expressions.values()))
        except pl.exceptions.PolarsError:
            self._drop_failing(batch)
            narrow = batch.select(list(self._expressions.values()))
        for sample in self._samples:
            if sample.mask in narrow.columns:
                self._sample(sample, batch, narrow[sample.mask])
        self._rows += batch.height
        return narrow

    def _drop_failing(self, batch: pl.DataFrame) -> None:
        where = f"records {self._rows} to {self._rows + batch.height - 1} of the stream"
        for name, expression in list(self._expressions.items()):
            try:
                batch.select(expression)
            except pl.exceptions.PolarsError as error:  # its text may quote records
                self._broken[name] = f"{type(error).__name__} in {where}"
                del self._expressions[name]
        if not self._broken:
            raise UnservedError(f"The expressions fail together but not alone, in {where}.")

    def _sample(self, sample: Sample, batch: pl.DataFrame, mask: pl.Series) -> None:
        kept = self._kept[sample.mask]
        room = SAMPLE_ROWS - len(kept)
        if room > 0 and mask.any():
            rows = batch.select(sample.columns)[mask.arg_true()[:room]].to_dicts()
            short = [{name: _shortened(value) for name, value in row.items()} for row in rows]
            kept += short if len(sample.columns) > 1 else [row[sample.columns[0]] for row in short]


def _shortened(value: Any) -> Any:
    if isinstance(value, list | dict | bytes):
        value = str(value)
    return value[:SAMPLE_CHARS] if isinstance(value, str) else value


def _first_paragraph(error: Exception) -> str:
    return " ".join(str(error).split("\n\n")[0].split())
