"""What the card of an act_prm source says of its rows: lines of the form `- **key**: value`.

Its words are those of the code that wrote it. An "episode" is a step, so a row. A generator that draws thoughts step by
step saves each as a "trajectory" of one step; one that says `nobandit` saves whole rollouts. `batch_size` counts tasks
of an update, which no row tells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from rollmill.layouts.base import Counted, Fact

COUNTED: Final = ("batch_id", "generation_id", "split")
"""Columns whose values the facts are compared with."""

_OPTIONS: Final = {"run_name": "run_id", "env_config": "env_name", "model_name": "model_name"}
_WHOLE: Final = re.compile(r"\d{1,18}", re.ASCII)
_ROLLOUTS: Final = "nobandit"


def card_options(facts: Mapping[str, str]) -> Mapping[str, str]:
    """Give the layout's options that a card's facts stand for.

    Generations are candidates where several were drawn (group_size) by a generator that draws them step by step.
    """
    known = {option: facts[fact] for fact, option in _OPTIONS.items() if facts.get(fact)}
    if _WHOLE.fullmatch(facts.get("batch_idx", "")):
        known |= {"policy_step": facts["batch_idx"], "policy_step_unit": "batch"}
    size = facts.get("group_size", "")
    if _WHOLE.fullmatch(size) and int(size) > 1 and _draws_steps(facts):
        known["generations"] = "candidates"
    return known


def countable(facts: Mapping[str, str]) -> tuple[Fact, ...]:
    """Give the facts that can be counted in the rows; numbers that are none are left out."""
    counting: dict[str, tuple[Counted, str | None]] = {
        "num_episodes": ("records", None),
        "num_trajectories": ("records" if _draws_steps(facts) else "rollouts", None),
        "group_size": ("number of values", "generation_id"),
        "batch_idx": ("values", "batch_id"),
    }
    numbers = [Fact(key, int(facts[key]), *of) for key, of in counting.items() if _WHOLE.fullmatch(facts.get(key, ""))]
    return (*numbers, *([Fact("split", facts["split"], "values", "split")] if facts.get("split") else []))


def _draws_steps(facts: Mapping[str, str]) -> bool:
    return _ROLLOUTS not in facts.get("generator_config", _ROLLOUTS)
