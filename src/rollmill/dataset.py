"""What was found over a whole dataset: the stage between normalize and publish, without what judges it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from rollmill.keys import DATASET_VERSION, digest_of
from rollmill.plan import Plan
from rollmill.publish.configs import MERGE_RULE

STAGE: Final = "dataset"


@dataclass(frozen=True, slots=True)
class DatasetCheck:
    """A number that was found, and the range it should be in. Counts and shares only, never a row's text.

    `check` is the code. `source`, `config`, `split` (`*` for its number: a sequence of splits) and `policy_step` say
    where, as far as the check is about one. `at_least` or `at_most` is None where there is no such limit.
    """

    check: str
    severity: str
    success: bool
    observed: float
    at_least: float | None = None
    at_most: float | None = None
    source: str | None = None
    config: str | None = None
    split: str | None = None
    policy_step: int | None = None

    @property
    def place(self) -> str:
        """Name where it was found, within the source."""
        prefix = "" if self.config in {None, "default"} else f"{self.config}/"
        step = "" if self.policy_step is None else f"policy step {self.policy_step}"
        return prefix + (self.split or step)

    @property
    def off(self) -> float:
        """How far it is beyond its limit; negative within."""
        above = self.observed - self.at_most if self.at_most is not None else float("-inf")
        below = self.at_least - self.observed if self.at_least is not None else float("-inf")
        return max(above, below)


def dataset_key(plan: Plan, suites: Iterable[str]) -> str:
    """Key of what is found over the units of a plan, by suites of these digests."""
    return digest_of(
        {
            "stage": STAGE,
            "version": DATASET_VERSION,
            "suites": list(suites),
            "merge": MERGE_RULE,
            "units": [unit.normalize_key for unit in plan.units],
        }
    )


def dataset_facts(checks: Iterable[DatasetCheck], warnings: list[str], results: list[dict[str, Any]]) -> dict[str, Any]:
    """Give what the manifest keeps: checks, lines that tell of those that failed, results of Great Expectations."""
    return {"checks": [_as_json(check) for check in checks], "warnings": warnings, "results": results}


def _as_json(check: DatasetCheck) -> dict[str, Any]:
    return {name: getattr(check, name) for name in DatasetCheck.__slots__}
