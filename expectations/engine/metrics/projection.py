"""What a suite asks for: the narrow expressions over one schema, the values to count, the samples to keep."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import polars as pl

from rollmill.expectations.engine.metrics.narrow import SAMPLE_ROWS, Narrow, Sample, UnservedError, first_paragraph
from rollmill.expectations.engine.metrics.sweep import Sweep


class Projection:
    """The narrow expressions of a suite over one schema."""

    def __init__(self, schema: pl.Schema) -> None:
        self.schema = schema
        self.rows_needed = False
        self.expressions: dict[str, pl.Expr] = {}
        self.tallies: dict[str, pl.Expr] = {}
        self.samples: dict[Sample, int] = {}
        self._empty = pl.DataFrame(schema=schema)

    def require(self, column: str) -> pl.DataType:
        """Give a column's type. Raises UnservedError naming the columns there are."""
        if column not in self.schema:
            raise UnservedError(f"There is no column {column!r}. The columns are: {', '.join(self.schema) or 'none'}.")
        return self.schema[column]

    def add(self, name: str, expression: pl.Expr) -> str:
        """Add an expression, tried on no rows, so that a wrong type shows before the pass."""
        return self._add(self.expressions, name, expression.alias(name))

    def tally(self, name: str, values: pl.Expr) -> str:
        """Add values, of any number per batch, that are to be counted one by one."""
        return self._add(self.tallies, name, values.alias("value").value_counts(name="count"))

    def keep_sample(self, mask: str, columns: tuple[str, ...], rows: int) -> Sample:
        """Ask for failing values of that many records."""
        sample = Sample(mask, columns)
        self.samples[sample] = min(max(rows, self.samples.get(sample, 0)), SAMPLE_ROWS)
        return sample

    @property
    def columns(self) -> list[str]:
        """Columns that are looked at, in the schema's order; where only records are counted, the first one."""
        looked = [*self.expressions.values(), *self.tallies.values()]
        named = {name for expression in looked for name in expression.meta.root_names()}
        named.update(name for sample in self.samples for name in sample.columns)
        return [name for name in self.schema if name in named] or list(self.schema)[:1]

    def sweep(self, batches: Iterable[pl.DataFrame]) -> Narrow:
        """Go over the stream once."""
        return Sweep(self.expressions, self.tallies, self.samples).over(chain([self._empty], batches))

    def _add(self, to: dict[str, pl.Expr], name: str, expression: pl.Expr) -> str:
        if name not in to:
            try:
                self._empty.select(expression)
            except pl.exceptions.PolarsError as error:
                raise UnservedError(first_paragraph(error)) from None
            to[name] = expression
            self.rows_needed = True
        return name
