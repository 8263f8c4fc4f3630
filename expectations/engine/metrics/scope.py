"""Which records a metric looks at, and the narrow columns it asks for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import polars as pl

from rollmill.expectations.engine.metrics import values
from rollmill.expectations.engine.metrics.narrow import UnservedError
from rollmill.expectations.engine.metrics.projection import Projection


@dataclass(frozen=True, slots=True)
class Scope:
    """The records under a row condition (`chosen`; None: all of them), and whether NaN is taken for missing."""

    projection: Projection
    chosen: pl.Expr | None
    nan_is_null: bool

    def kind(self, column: str) -> pl.DataType:
        """Give a column's type. Raises UnservedError if it is not there."""
        return self.projection.require(column)

    def text(self, column: str) -> pl.Expr:
        """Give a column of text. Raises UnservedError if it is not."""
        kind = self.kind(column)
        if not values.is_text(kind):
            raise UnservedError(f"Column {column!r} is {kind}, not text.")
        return values.plain(column, kind).cast(pl.String)

    def plain(self, column: str) -> pl.Expr:
        """Give a column as it compares."""
        return values.plain(column, self.kind(column))

    def compared(self, column: str) -> pl.Expr:
        """Give a column with null for NaN, whatever NaN is taken for: nothing equals it, nothing is greater."""
        return values.comparable(column, self.kind(column), nan_is_null=True)

    def matched(self, column: str) -> pl.Expr:
        """Give a column with null for NaN, if that is what NaN is taken for; else NaN equals NaN."""
        return values.comparable(column, self.kind(column), nan_is_null=self.nan_is_null)

    def missing(self, column: str) -> pl.Expr:
        """Give where a column has no value."""
        return values.missing(column, self.kind(column), nan_is_null=self.nan_is_null)

    def within(self, rows: pl.Expr) -> pl.Expr:
        """Leave only records under the row condition."""
        return rows if self.chosen is None else rows & self.chosen

    def add(self, what: str, expression: pl.Expr) -> str:
        """Add a narrow column under a name that equal expressions share."""
        return self.projection.add(_name(what, expression), expression)

    def fixed(self, column: str) -> tuple[str, str]:
        """Add a column of numbers, booleans or times, and where it has a value that is not NaN.

        Raises UnservedError if it is another.
        """
        kind = self.kind(column)
        narrowed = values.narrowed(column, kind)
        if narrowed is None:
            raise UnservedError(f"Column {column!r} is {kind}: the values needed are numbers, booleans or times.")
        return self.add("value", narrowed), self.present(column)

    def present(self, column: str) -> str:
        """Add where a column has a value that is not NaN, under the row condition."""
        absent = values.missing(column, self.kind(column), nan_is_null=True)
        return self.add("present", self.within(~absent))

    def tally(self, column: str) -> str:
        """Add a count of a column's values that are there and not NaN, under the row condition."""
        kind = self.kind(column)
        absent = values.missing(column, kind, nan_is_null=True)
        found = values.plain(column, kind).filter(self.within(~absent))
        return self.projection.tally(_name("tally", found), found)

    def key(self, columns: tuple[str, ...]) -> tuple[str, bool]:
        """Add at most 8 bytes per record that are equal where the columns are, and say whether it is the value itself.

        Else it is a hash, which two different values share with a probability of 2^-64: among n distinct ones, some do
        with one of n^2 / 2^65 (7e-7 at 5 million, 3e-4 at 100 million).
        """
        read = [self.matched(column) for column in columns]
        if len(read) == 1 and values.is_fixed(self.kind(columns[0])):
            return self.add("key", read[0]), True
        hashes = [one.hash(11).alias(str(i)) for i, one in enumerate(read)]
        return self.add("key", hashes[0] if len(hashes) == 1 else pl.struct(hashes).hash(13)), False


def _name(what: str, expression: pl.Expr) -> str:
    return f"{what}:{hashlib.sha256(expression.meta.serialize()).hexdigest()}"
