"""What a layout is: a detector over schemas, and the two pure functions from source rows to unified rows and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import polars as pl
import pyarrow as pa

from rollmill.schema import SCHEMA


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a batch comes from: what ids and lineage columns need, the same for all of its rows.

    `digest` is the source file's sha256, `ordinal` counts files of the same bytes within the split.
    """

    data_source: str
    config: str
    split: str
    digest: str
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a layout fits a schema: it does if `problems` is empty.

    `near` counts the required columns that are there with a right type, to rank layouts that nearly fit.
    """

    layout: str
    required: frozenset[str]
    near: int
    problems: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether nothing is missing."""
        return not self.problems


Counted = Literal["records", "rollouts", "values", "number of values"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a card that can be counted in the rows: `field` is its key there.

    Without a column it counts records or rollouts; with one, the values of that column: which they are ("values"), or
    how many ("number of values").
    """

    field: str
    declared: int | str
    counted: Counted
    column: str | None = None


class Layout(ABC):
    """One known shape of source rows.

    A layout never looks at a dataset's name. `version` goes up whenever the rows it makes change; a new version may
    change context_id, content_id and inferred group_id, never row_id or rollout_id.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    grain: ClassVar[Literal["row", "rollout"]]
    required: ClassVar[Mapping[str, str]]
    """Required columns and the kind each must be of (see `is_kind`)."""

    options: ClassVar[Mapping[str, frozenset[str]]] = {}
    """Options it takes, with the values allowed; any text where none are listed."""

    @property
    def tag(self) -> str:
        """`name@version`."""
        return f"{self.name}@{self.version}"

    def fit(self, types: Mapping[str, str]) -> Fit:
        """Compare a source's columns (name -> logical type) with what the layout needs."""
        problems = []
        for column, kind in self.required.items():
            if column not in types:
                problems.append(f"no column {column}")
            elif not is_kind(types[column], kind):
                problems.append(f"column {column} is {types[column]}, not {kind}")
        return Fit(self.name, frozenset(self.required), len(self.required) - len(problems), tuple(problems))

    @abstractmethod
    def normalize(
        self, batch: pa.RecordBatch, rows: pa.Int64Array, origin: Origin, options: Mapping[str, str]
    ) -> pa.Table:
        """Turn source rows into unified rows.

        `rows` holds the record number of each row of `batch`. Returns a table of exactly `schema.SCHEMA`, rows in
        source order.
        """

    @abstractmethod
    def restore(self, rows: pa.Table, schema: pa.Schema) -> pa.Table:
        """Give the source rows of unified rows back: the columns and types of `schema`, values bit for bit."""


class RolloutLayout(Layout):
    """A layout whose rollouts span rows.

    Its `normalize` is row-local all the same: contexts in full, and placeholders for what only whole rollouts tell.
    `layouts.rollouts.finish` makes them whole, `expand` undoes that before `restore`.
    """

    grain = "rollout"
    key_columns: ClassVar[tuple[str, ...]]
    """What `rollout_ids` reads; a file may lack some."""

    counted_columns: ClassVar[tuple[str, ...]] = ()
    """Columns of few values that `countable` facts speak of."""

    @abstractmethod
    def rollout_ids(self, batch: pa.RecordBatch, origin: Origin, options: Mapping[str, str]) -> pl.Series:
        """Give each row's rollout_id, the same as `normalize` does, from `key_columns` alone."""

    @abstractmethod
    def sequence(self, batch: pa.RecordBatch, options: Mapping[str, str]) -> pl.DataFrame:
        """Give of each row what its place is judged by: rollout, step, candidate, end; null for what is not known."""

    def card_options(self, facts: Mapping[str, str]) -> Mapping[str, str]:
        """Give the options that a card's facts (`- **key**: value` lines) stand for; none unless overridden."""
        return {}

    def countable(self, facts: Mapping[str, str]) -> tuple[Fact, ...]:
        """Give the facts of a card that can be counted in the rows; none unless overridden."""
        return ()


_NUMBERS = ("int", "uint", "float", "double", "halffloat", "decimal")


def is_kind(logical: str, kind: str) -> bool:
    """Whether a logical type (as `identity.logical_type` names it) is of a kind; a column of nulls is of every kind.

    Kinds are logical types; `number`, of any width; and `reward`: numbers, booleans, and text whose records the suite
    judges.
    """
    if logical in (kind, "null"):
        return True
    number = logical.startswith(_NUMBERS)
    return number if kind == "number" else kind == "reward" and (number or logical in ("string", "json", "bool"))


def assemble(columns: Mapping[str, Any], length: int) -> pa.Table:
    """Build a table of the unified schema; columns not given are null.

    Values are Arrow arrays, Polars series, or constants that are repeated. Raises pyarrow.ArrowInvalid if a column
    has another length.
    """
    unknown = columns.keys() - set(SCHEMA.names)
    if unknown:
        raise KeyError(f"not in the unified schema: {sorted(unknown)}")
    arrays = [_column(columns.get(f.name), f, length) for f in SCHEMA]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def _column(value: Any, field: pa.Field, length: int) -> pa.Array[Any] | pa.ChunkedArray[Any]:
    if value is None or length == 0:
        return pa.nulls(length, field.type)
    if isinstance(value, pl.Series):
        return value.to_arrow().cast(field.type)
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        return value if value.type == field.type else value.cast(field.type)
    return pa.repeat(pa.scalar(value, field.type), length)
