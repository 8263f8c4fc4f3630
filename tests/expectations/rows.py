"""Facts of rows that are told in a few words, as the dataset's checks see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from rollmill.expectations.facts import UnitFacts, facts_of_places, places
from rollmill.facts import FACTS_SCHEMA
from rollmill.publish import merged_split

CONSTANTS: Mapping[str, Any] = {
    "step_idx": 0,
    "num_steps": 1,
    "candidate_idx": 0,
    "is_last": True,
    "reward_kind": "outcome",
    "producer_role": "actor",
    "context_mode": "full",
    "is_first": True,
    "is_sample": True,
    "all_finite": True,
    "advantage_nulled": False,
    "is_kept": False,
    "context_messages": 2,
    "hidden_messages": 0,
    "context_bytes": 10,
    "completion_bytes": 10,
}
KEYS = ("row_key", "rollout_key", "prompt_key", "content_key")


class Dataset:
    """Facts by (source, split), written as units. Keys that are not given differ from all others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.units: list[UnitFacts] = []
        self._next = 1

    def add(self, source: str, split: str, rows: int, **columns: Sequence[Any] | Any) -> Dataset:
        """Add a unit of single-step rollouts; a column is one value for all rows, or a list."""
        keys = {name: list(range(self._next, self._next + rows)) for name in KEYS}
        self._next += rows
        given = {**keys, **CONSTANTS, **columns}
        arrays = []
        for field in FACTS_SCHEMA:
            value = given.get(field.name)
            values = value if isinstance(value, list) else [value] * rows
            arrays.append(pa.array(values, field.type))
        path = self.folder / f"{len(self.units)}.parquet"
        pq.write_table(pa.Table.from_arrays(arrays, schema=FACTS_SCHEMA), path)
        unit = UnitFacts(
            unit=f"{source}/default/{split}#{len(self.units)}",
            layout="test@1",
            source=source,
            config="default",
            split=split,
            merged=merged_split(split),
            rows=rows,
            facts=path,
            rollouts=path,
        )
        self.units.append(unit)
        return self

    @property
    def facts(self) -> pl.LazyFrame:
        return facts_of_places(self.units)

    @property
    def places(self) -> pl.DataFrame:
        return places(self.units)
