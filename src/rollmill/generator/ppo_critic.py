"""The plan of a source in the shape of the PPO critic seed: a split per critic iteration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from rollmill.generator.faults import Fault, draw_rows

PPO_CRITIC_SPLITS: Final = 127
PPO_CRITIC_BYTES: Final = 27_980_000_000
PPO_CRITIC_FAULTS: Final = {
    "empty_response": "response",
    "reward_not_finite": "score",
    "reward_missing": "score",
}
"""Reason code -> the column it spoils."""

_MOST_SPLITS: Final = 170
_FEWEST_ROWS: Final = 11_920
_MOST_ROWS: Final = 40_469
_FIRST_PUSHED: Final = 89
_LAST_ITERATION: Final = 175
_NOISE: Final = 0.12


@dataclass(frozen=True, slots=True)
class PpoSplit:
    """A split: its place in the order of pushes, the critic's iteration, rows, and the mean bytes of a row."""

    index: int
    iteration: int
    rows: int
    row_bytes: float

    @property
    def name(self) -> str:
        """The split's name on the Hub."""
        return f"train_{self.iteration}"

    @property
    def num_bytes(self) -> int:
        """About what the card will say; a random mean, so a few percent off for few rows."""
        return round(self.rows * self.row_bytes)


@dataclass(frozen=True, slots=True)
class PpoCriticPlan:
    """What `write_ppo_critic` writes: splits in the order they are pushed, and the faults by split and row."""

    seed: int
    splits: tuple[PpoSplit, ...]
    faults: tuple[Fault, ...]

    @property
    def rows(self) -> int:
        """Rows of all splits."""
        return sum(split.rows for split in self.splits)

    @property
    def num_bytes(self) -> int:
        """About the bytes of all splits."""
        return sum(split.num_bytes for split in self.splits)

    @property
    def listed(self) -> list[str]:
        """Names of the splits as the card's configs list them, which is another order than that of the pushes."""
        order = sorted(self.splits, key=lambda s: (s.index // 5, s.iteration < _FIRST_PUSHED, s.iteration))
        return [split.name for split in order]


def plan_ppo_critic(
    *,
    scale: float = 1.0,
    splits: int = PPO_CRITIC_SPLITS,
    seed: int = 0,
    faults: Mapping[str, int] | None = None,
    fault_split: str | None = None,
) -> PpoCriticPlan:
    """Plan a ppo_critic source. `scale` scales the rows of each split; more `splits` leave the others as they were.

    `faults`: empty_response, reward_not_finite (in `score`), reward_missing (in `score`) -> number of rows, anywhere or
    in `fault_split` only.

    Raises:
        ValueError: more splits than there are names for, no such split, faults of another kind or more than rows.
    """
    if not 1 <= splits <= _MOST_SPLITS:
        raise ValueError(f"{splits} splits: 1 to {_MOST_SPLITS} can be made")
    row_bytes = PPO_CRITIC_BYTES / sum(_full_rows(seed, i) for i in range(PPO_CRITIC_SPLITS))
    planned = tuple(
        PpoSplit(i, _iteration(i), max(round(_full_rows(seed, i) * scale), 1), row_bytes) for i in range(splits)
    )
    spoiled = [(split.name, split.rows) for split in planned if fault_split in {None, split.name}]
    if not spoiled:
        raise ValueError(f"there is no split {fault_split}")
    return PpoCriticPlan(seed, planned, draw_rows(faults, spoiled, seed, PPO_CRITIC_FAULTS))


def _iteration(index: int) -> int:
    """Number the pushes 89, 90, 91, 2, 1, 92, 93, 94, 4, 3, 95, 97, …: out of order, and some numbers never come."""
    block, place = divmod(index, 5)
    if place < 3:  # noqa: PLR2004
        late = 3 * block + place
        return _FIRST_PUSHED + late + late // 7
    early = 2 * block + 4 - place
    return 1 + early + early // 4


def _full_rows(seed: int, index: int) -> int:
    """Give the rows of a split at full size: more in later iterations, but not always."""
    iteration = _iteration(index)
    if iteration in {1, _LAST_ITERATION}:
        return _FEWEST_ROWS if iteration == 1 else _MOST_ROWS
    noise = np.random.default_rng([seed, index]).normal(0, _NOISE)
    share = abs(1 - abs(1 - iteration / _LAST_ITERATION - noise))
    return _FEWEST_ROWS + round((_MOST_ROWS - _FEWEST_ROWS) * share)
