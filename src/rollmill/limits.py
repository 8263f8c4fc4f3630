"""Limits on what is put aside, judged over whole sources and splits, cached units included."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rollmill.errors import DataRefusedError, FileRefusedError, QuarantineLimitError
from rollmill.expectation_names import looks_at_records
from rollmill.plan import UnitPlan
from rollmill.reasons import NOT_KEEPABLE
from rollmill.store import Manifest
from rollmill.verdicts import columns_judged, told

JUDGED_FROM: Final = 50
"""Below this many records, only a scope without any good record is refused."""

_TOLD_FROM: Final = 2
"""A single record without a reward says nothing of the column, unless it is all there is."""

_NOTHING: Final[Mapping[str, Any]] = {"read": 0, "reasons": {}, "first": {}}


@dataclass
class Tally:
    """Records in, those put aside by reason, and the first of each reason. Kept ones count as good.

    `keepable` are the codes that would have to be kept to publish all that can be.
    """

    rows: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)
    keepable: set[str] = field(default_factory=set)

    def add(self, counts: Mapping[str, Any], keep: Collection[str]) -> None:
        """Count more records, as a verdict's facts give them for a part of a file."""
        self.rows += counts["read"]
        for one in (one for one in told(counts, keep) if not one.kept):
            self.reasons[one.reason] += one.count
            self.first[one.reason] = min(one.first, self.first.get(one.reason, one.first))
            if NOT_KEEPABLE.keys().isdisjoint(one.reasons):
                self.keepable.update(set(one.reasons).difference(keep))

    @property
    def aside(self) -> int:
        """Records put aside."""
        return self.reasons.total()

    @property
    def good(self) -> int:
        """Records that may be published."""
        return self.rows - self.aside


@dataclass
class Scope:
    """What a limit holds for: a source, or one of its splits."""

    total: Tally = field(default_factory=Tally)
    files: dict[str, Tally] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)

    @property
    def worst(self) -> str:
        """The file with most records put aside."""
        return max(self.files, key=lambda path: self.files[path].aside)


def judge_limits(verdicts: Iterable[tuple[UnitPlan, Manifest]], limit: float) -> None:
    """Refuse a run that would put aside more than `limit` of a source or split; kept records count as good.

    Raises DataRefusedError for a critical check of a table that fails, FileRefusedError for a file whose rewards are
    all null, and QuarantineLimitError naming every scope above the limit with its counts and reasons.
    """
    scopes: dict[str, Scope] = {}
    for plan, verdict in verdicts:
        unit = plan.unit
        _refuse_failed_table(unit.name, verdict)
        for index, part in enumerate(unit.parts):
            counts = verdict.facts["parts"].get(str(index), _NOTHING)
            for name in (f"source {unit.source}", f"split {unit.split} of source {unit.source} (config {unit.config})"):
                scope = scopes.setdefault(name, Scope())
                scope.total.add(counts, plan.keep)
                scope.files.setdefault(part.file.path, Tally()).add(counts, plan.keep)
                scope.columns |= columns_judged(verdict)
    for scope in scopes.values():
        _refuse_missing_rewards(scope)
    above = list(_above(scopes, limit))
    if above:
        raise _limit_error(above, limit)


def _refuse_failed_table(name: str, verdict: Manifest) -> None:
    """Refuse where a critical check fails that puts no single record aside."""
    for found in verdict.facts["findings"]:
        of_table = not looks_at_records(found["expectation"])
        if of_table and found["severity"] == "critical" and found["success"] is False:
            observed = found["observed"]
            number = f", found {observed}" if isinstance(observed, int | float) else ""
            raise DataRefusedError(
                f"{name}: {found['expectation']} ({found['column'] or 'table'}) fails{number}. It is critical, so "
                "nothing is published. Mend the source, or make the expectation a warning.",
                column=found["column"],
            )


def _refuse_missing_rewards(scope: Scope) -> None:
    for path, tally in scope.files.items():
        telling = tally.rows >= _TOLD_FROM or len(scope.files) == 1
        if tally.rows and telling and tally.reasons["reward_missing"] == tally.rows:
            column = scope.columns.get("reward_missing", "reward")
            raise FileRefusedError(
                f"{path}: column {column} holds nothing but nulls in all {tally.rows} records. A reward that was never "
                "recorded is no column: leave it out, or write the rewards.",
                file=path,
                column=column,
            )


def _above(scopes: dict[str, Scope], limit: float) -> Iterator[tuple[str, Scope]]:
    for name, scope in scopes.items():
        tally = scope.total
        over = tally.aside > limit * tally.rows if tally.rows >= JUDGED_FROM else False
        if tally.rows and (over or (tally.good == 0 and limit < 1)):
            yield name, scope


def _limit_error(above: list[tuple[str, Scope]], limit: float) -> QuarantineLimitError:
    lines = []
    for name, scope in above:
        tally = scope.total
        reasons = ", ".join(f"{code} {count}" for code, count in tally.reasons.most_common())
        lines.append(
            f"{name}: {tally.aside} of {tally.rows} records ({tally.aside / tally.rows:.1%}) put aside: {reasons}"
        )
    keepable = sorted(set[str]().union(*(scope.total.keepable for _, scope in above)))
    keeping = (
        f" publish such records flagged with {' '.join(f'--keep {code}' for code in keepable)}," if keepable else ""
    )
    highest = max(scope.total.aside / scope.total.rows for _, scope in above)
    scope = above[0][1]
    worst = scope.files[scope.worst]
    code = worst.reasons.most_common(1)[0][0]
    return QuarantineLimitError(
        f"More records were put aside than the limit of {limit:.1%} allows. {'; '.join(lines)}. "
        f"Most in file {scope.worst}, for {code} first in record {worst.first[code]}. Nothing is published. Look "
        "at them with `rollmill inspect … --quarantine`; mend the source,"
        f"{keeping} or raise the limit with --max-quarantine {min(1.0, highest + 0.001):.3f}.",
        file=scope.worst,
        row=worst.first[code],
        column=scope.columns.get(code),
    )
