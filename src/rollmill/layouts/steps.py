"""The frame of tables whose rows are steps: where rollouts and steps begin, and where each row's messages are."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from rollmill.layouts.distinct import Ints
from rollmill.layouts.messages import list_digests, list_lengths, message_digests

Bools = npt.NDArray[np.bool_]


class Steps:
    """Where rollouts and steps begin. Arrays are per step, or per row where said so."""

    def __init__(self, table: pa.Table) -> None:
        rollouts = pl.Series(pl.from_arrow(table.column("rollout_id")))
        numbers = table.column("step_idx").to_numpy().astype(np.int64)
        new_rollout = np.concatenate([[True], (rollouts != rollouts.shift(1)).to_numpy()[1:]]).astype(bool)
        new_step = new_rollout | np.concatenate([[True], np.diff(numbers) != 0])
        if rollouts.n_unique() != new_rollout.sum() or (~new_rollout[1:] & (np.diff(numbers) < 0)).any():
            raise ValueError("rows of rollouts must stand together, in order of step_idx")
        self.rows = len(numbers)
        self.of: Ints = np.cumsum(new_step) - 1
        """Per row: its step."""
        self.first: Ints = np.flatnonzero(new_step)
        """The step's first row."""
        self.sizes: Ints = np.diff(np.append(self.first, self.rows))
        self.starts: Bools = new_rollout[self.first]
        """Whether the step is its rollout's first."""

    @cached_property
    def rank(self) -> Ints:
        """How many steps of the rollout come before."""
        at = np.arange(len(self.first))
        return np.asarray(at - np.maximum.accumulate(np.where(self.starts, at, 0)), dtype=np.int64)

    @cached_property
    def followed(self) -> Bools:
        """Whether another step of the rollout comes after."""
        return np.asarray(np.append(~self.starts[1:], False), dtype=bool)

    @property
    def is_last(self) -> Bools:
        """Per row: whether its step is the last."""
        return np.asarray(~self.followed[self.of], dtype=bool)

    @property
    def counts(self) -> Ints:
        """Per row: steps of its rollout."""
        rollout = np.cumsum(self.starts) - 1
        return np.asarray(np.bincount(rollout)[rollout][self.of], dtype=np.int64)

    @property
    def rollout_start(self) -> Ints:
        """Per row: the first row of its rollout."""
        firsts = self.first[self.starts]
        return np.asarray(firsts[np.cumsum(self.starts) - 1][self.of], dtype=np.int64)

    def carried(self, is_selected: pa.ChunkedArray[Any]) -> Ints:
        """Give each step's row that was carried on; the first where none is known to be."""
        selected = np.flatnonzero(pc.fill_null(is_selected, fill_value=False).to_numpy())
        carried = self.first.copy()
        carried[self.of[selected]] = selected
        return carried


class MessageColumn:
    """A column of message lists: per row where its messages are among those of all rows."""

    def __init__(self, table: pa.Table, name: str) -> None:
        chunks = table.column(name).chunks
        self.flats = [chunk.flatten() for chunk in chunks]
        self.lengths: Ints = np.concatenate([list_lengths(chunk) for chunk in chunks])
        self.starts: Ints = np.cumsum(self.lengths) - self.lengths
        self.total = int(self.lengths.sum())

    @cached_property
    def ids(self) -> pl.Series:
        """A digest per message."""
        return pl.concat([message_digests(flat) for flat in self.flats])

    def digests(self, starts: Ints, lengths: Ints) -> pl.Series:
        """Hash ranges of messages."""
        return list_digests(self.ids, starts, lengths)
