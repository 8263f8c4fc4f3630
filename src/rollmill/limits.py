"""Limits on what is put aside, judged over whole sources and splits, cached units included."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rollmill.errors import FileRefusedError, QuarantineLimitError
from rollmill.plan import UnitPlan
from rollmill.store import Manifest

JUDGED_FROM = 50
"""Below this many records, only a scope without any good record is refused."""


@dataclass
class Tally:
    """Records in, and those put aside by reason."""

    rows: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, rows: int, reasons: dict[str, int]) -> None:
        """Count more records."""
        self.rows += rows
        self.reasons.update(reasons)

    @property
    def aside(self) -> int:
        """Records put aside."""
        return self.reasons.total()

    @property
    def good(self) -> int:
        """Records that may be published."""
        return self.rows - self.aside


def judge_limits(verdicts: Iterable[tuple[UnitPlan, Manifest]], limit: float) -> None:
    """Refuse a run that would put aside more than `limit` of a source or split.

    Raises FileRefusedError for a file whose rewards are all null, and QuarantineLimitError naming every scope above
    the limit with its counts and reasons.
    """
    scopes: dict[str, Tally] = {}
    files: dict[str, dict[str, Tally]] = {}
    for plan, verdict in verdicts:
        unit = plan.unit
        for index, part in enumerate(unit.parts):
            counts = verdict.facts["parts"].get(str(index), {"read": 0, "reasons": {}})
            places = (f"source {unit.source}", f"split {unit.split} of source {unit.source} (config {unit.config})")
            for scope in places:
                scopes.setdefault(scope, Tally()).add(counts["read"], counts["reasons"])
                of_scope = files.setdefault(scope, {})
                of_scope.setdefault(part.file.path, Tally()).add(counts["read"], counts["reasons"])
    _refuse_missing_rewards(files.values())
    above = list(_above(scopes, limit))
    if above:
        worst = _worst(files[above[0][0]])
        raise QuarantineLimitError(_message(above, worst, limit), file=worst)


def _refuse_missing_rewards(scopes: Iterable[dict[str, Tally]]) -> None:
    for path, tally in (named for files in scopes for named in files.items()):
        if tally.rows and tally.reasons["reward_missing"] == tally.rows:
            raise FileRefusedError(
                f"{path}: column reward holds nothing but nulls in all {tally.rows} records. A reward that was never "
                "recorded is no column: leave it out, or write the rewards.",
                file=path,
                column="reward",
            )


def _above(scopes: dict[str, Tally], limit: float) -> Iterator[tuple[str, Tally]]:
    for scope, tally in scopes.items():
        over = tally.aside > limit * tally.rows if tally.rows >= JUDGED_FROM else False
        if tally.rows and (over or (tally.good == 0 and limit < 1)):
            yield scope, tally


def _message(above: list[tuple[str, Tally]], worst: str, limit: float) -> str:
    lines = []
    for scope, tally in above:
        reasons = ", ".join(f"{code} {count}" for code, count in tally.reasons.most_common())
        lines.append(
            f"{scope}: {tally.aside} of {tally.rows} records ({tally.aside / tally.rows:.1%}) put aside: {reasons}"
        )
    highest = max(tally.aside / tally.rows for _, tally in above)
    return (
        f"More records were put aside than the limit of {limit:.1%} allows. {'; '.join(lines)}. "
        f"Most in file {worst}. Nothing is published. Mend the source, or raise the limit with "
        f"--max-quarantine {min(1.0, highest + 0.001):.3f}."
    )


def _worst(files: dict[str, Tally]) -> str:
    return max(files, key=lambda path: files[path].aside)
