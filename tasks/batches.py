"""Which units one task run takes: some, so that 127 splits are not hundreds of task runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rollmill.plan import UnitPlan

MOST_TASK_RUNS = 32


@dataclass(frozen=True)
class Batch:
    """Consecutive units for one task run, with a name for the UI."""

    name: str
    units: tuple[UnitPlan, ...]


def batches(units: Sequence[UnitPlan], *, most: int = MOST_TASK_RUNS) -> list[Batch]:
    """Cut units into at most `most` batches of nearly equal record counts, in order."""
    target = sum(unit.unit.rows for unit in units) / most
    cut: list[Batch] = []
    pending: list[UnitPlan] = []
    for unit in units:
        pending.append(unit)
        if sum(u.unit.rows for u in pending) >= target:
            cut.append(_batch(pending))
            pending = []
    return [*cut, _batch(pending)] if pending else cut


def _batch(units: list[UnitPlan]) -> Batch:
    first, last = units[0].unit.name, units[-1].unit.name
    return Batch(first if len(units) == 1 else f"{first}..{last}", tuple(units))
