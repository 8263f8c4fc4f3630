"""The plan of a source in the shape of the Act-PRM seed: a row per step, or per candidate of a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from rollmill.generator.faults import Fault, draw_records

ACT_PRM_STEPS: Final = 10_183
ACT_PRM_ROLLOUTS: Final = 910
ACT_PRM_QUESTIONS: Final = 261
ACT_PRM_SPLIT: Final = "train"
ACT_PRM_FAULTS: Final = ("duplicate_step", "reward_missing", "reward_not_finite", "step_gap", "steps_after_end")
_SHORTEST: Final = 2
_SHAPE: Final = 4.0
_TRUNCATED: Final = 0.02


@dataclass(frozen=True)
class ActPrmPlan:
    """What `write_act_prm` writes.

    Attributes:
        seed: what all draws start from.
        generations: candidates per step; more than one is the bandit form.
        hide_observations: whether states show `...` in place of all but the newest observation.
        lengths: steps of each rollout, in the order of rows.
        questions: the question each rollout answers; some are answered several times.
        truncated: whether each rollout was stopped at its last turn, without an answer.
        drawn: faults asked for, as (reason, rollout, form).
    """

    seed: int
    generations: int
    hide_observations: bool
    lengths: tuple[int, ...]
    questions: tuple[int, ...]
    truncated: tuple[bool, ...]
    drawn: tuple[tuple[str, int, int], ...]

    @property
    def rows(self) -> int:
        """Rows in all."""
        return sum(self.lengths) * self.generations

    @cached_property
    def faults(self) -> tuple[Fault, ...]:
        """The faults by row. `rows` are those of the whole rollout."""
        ends = np.cumsum(self.lengths) * self.generations
        found = []
        for reason, rollout, form in self.drawn:
            first = int(ends[rollout]) - self.lengths[rollout] * self.generations
            row = first + self.fault_step(reason, rollout) * self.generations
            found.append(Fault(reason, ACT_PRM_SPLIT, row, range(first, int(ends[rollout])), form))
        return tuple(found)

    def fault_step(self, reason: str, rollout: int) -> int:
        """Give the step of a rollout from which a fault shows: about its middle, and before its end."""
        middle = self.lengths[rollout] // 2
        return min(middle, self.lengths[rollout] - 2) if reason == "steps_after_end" else middle


def plan_act_prm(
    *,
    scale: float = 1.0,
    generations: int = 1,
    hide_observations: bool = True,
    seed: int = 0,
    faults: Mapping[str, int] | None = None,
) -> ActPrmPlan:
    """Plan an act_prm source: 10,183 steps in 910 rollouts at scale 1.0, a row for each of a step's `generations`.

    `faults` gives the number of rollouts to spoil, none of them twice, the number of rows unchanged:
    step_gap: the numbers from a middle step on are one too high; duplicate_step: one too low; steps_after_end: a step
    before the last is `done` too; reward_not_finite and reward_missing: the reward of one row (a missing one is no
    fault where rows are steps: it says that nothing was recorded).

    Raises:
        ValueError: less than one generation, faults of another kind, or more than there are rollouts.
    """
    if generations < 1:
        raise ValueError(f"{generations} generations: at least one is needed")
    random = np.random.default_rng([seed, 0xAC7])
    steps = max(round(ACT_PRM_STEPS * scale), _SHORTEST)
    rollouts = min(max(round(ACT_PRM_ROLLOUTS * scale), 1), steps // _SHORTEST)
    questions = max(round(ACT_PRM_QUESTIONS * scale), 1)
    stopped = max(round(rollouts * _TRUNCATED), int(rollouts > 1))
    shares = random.gamma(_SHAPE, size=rollouts)
    lengths = _SHORTEST + random.multinomial(steps - _SHORTEST * rollouts, shares / shares.sum())
    return ActPrmPlan(
        seed=seed,
        generations=generations,
        hide_observations=hide_observations,
        lengths=tuple(lengths.tolist()),
        questions=tuple((random.permutation(rollouts) % questions).tolist()),
        truncated=tuple((random.permutation(rollouts) < stopped).tolist()),
        drawn=tuple(draw_records(faults, rollouts, seed, ACT_PRM_FAULTS)),
    )
