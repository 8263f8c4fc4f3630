"""The report of a run: what `--json` prints, and what is kept with the version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from rollmill.checks import near_and_all
from rollmill.declared import Comparison, arrow_sizes, compare_plan
from rollmill.errors import RollmillError
from rollmill.plan import Plan, SourcePlan, UnitPlan
from rollmill.publish import VersionManifest
from rollmill.release import public_uri
from rollmill.store import Manifest
from rollmill.verdicts import told

STAGES = ("ingest", "validate", "normalize", "publish")


@dataclass
class StageStats:
    """What a stage took. `units` are files in ingest; `bytes_read` were asked of source data files."""

    units: int = 0
    cached: int = 0
    seconds: float = 0.0
    bytes_read: int = 0


@dataclass
class Report:
    """What a run found and did; counts are source records, `rows_written` rows of the data files."""

    verdict: Literal["published", "unchanged", "refused"]
    rows_in: int = 0
    rows_published: int = 0
    rows_quarantined: int = 0
    rows_dropped: int = 0
    rows_written: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    error: dict[str, Any] | None = None
    version: dict[str, Any] | None = None
    destination: str = ""
    data_docs: str | None = None
    stages: dict[str, StageStats] = field(default_factory=lambda: {stage: StageStats() for stage in STAGES})
    sources: list[dict[str, Any]] = field(default_factory=list)
    declared_vs_observed: list[Comparison] = field(default_factory=list)
    dataset_checks: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Give the JSON form."""
        return asdict(self)

    def public(self, number: int, digest: str) -> dict[str, Any]:
        """Give the form that is published beside the data: no local paths."""
        sources = [source | {"uri": public_uri(source["uri"])} for source in self.sources]
        shown = replace(
            self, sources=sources, destination="", data_docs=None, version={"number": number, "digest": digest}
        )
        return shown.as_json()


def describe_plan(report: Report, plan: Plan) -> None:
    """Fill in the sources, and what is declared of them beside what is there, as far as ingest knows it."""
    for source in plan.sources:
        snapshot = source.ingested.snapshot
        splits: dict[str, int] = {}
        for file in snapshot.files:
            name = file.split if file.config == "default" else f"{file.config}/{file.split}"
            splits[name] = splits.get(name, 0) + source.ingested.inspection(file).rows
        report.sources.append(
            {
                "name": source.name,
                "uri": snapshot.uri,
                "revision": snapshot.revision,
                "layout": source.layout.tag,
                "splits": splits,
                "rollouts": source.rollouts,
            }
        )
        report.rows_in += sum(splits.values())
        report.warnings += [*snapshot.warnings, *_skips(source), *_changes(source)]
    describe_declared(report, plan)


def describe_declared(report: Report, plan: Plan, judged: Iterable[tuple[UnitPlan, Manifest]] = ()) -> None:
    """Set what is declared beside what is there, and tell of what differs; bytes as Arrow are known once `judged`."""
    told_of = set(report.declared_vs_observed)
    report.declared_vs_observed = compare_plan(plan, arrow_sizes(judged))
    new = (comparison for comparison in report.declared_vs_observed if comparison not in told_of)
    report.warnings += [comparison.sentence() for comparison in new if comparison.drifts]


def describe_verdicts(report: Report, verdicts: Iterable[tuple[UnitPlan, Manifest]]) -> None:
    """Fill in what was put aside and why, and tell of checks that failed as warnings."""
    failed: Counter[tuple[str, str, str]] = Counter()
    reasons: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    unjudged: dict[tuple[str, str, str], str] = {}
    for plan, verdict in verdicts:
        for one in (one for part in verdict.facts["parts"].values() for one in told(part, plan.keep)):
            (kept if one.kept else reasons)[one.reason] += one.count
        for finding in verdict.facts["findings"]:
            if finding["severity"] != "critical" and finding["success"] is False:
                check = (plan.unit.source, finding["expectation"], finding["column"] or "table")
                if finding["error"]:
                    unjudged.setdefault(check, _why_unjudged(plan, finding))
                else:
                    failed[check] += finding["unexpected"]
    report.reasons, report.kept = dict(sorted(reasons.items())), dict(sorted(kept.items()))
    report.rows_quarantined = reasons.total()
    report.warnings += [
        f"{source}: {expectation} ({column}) fails" + (f" for {count} records." if count else ".")
        for (source, expectation, column), count in failed.items()
    ]
    report.warnings += [
        f"{source}: {expectation} ({column}) can't be judged: {why}"
        for (source, expectation, column), why in unjudged.items()
    ]


def _why_unjudged(plan: UnitPlan, finding: Mapping[str, Any]) -> str:
    """Say it of a column that is not there with the file and the columns it has; else as the engine does."""
    file, column = plan.unit.parts[0].file.path, finding["column"]
    if column is None or column in plan.schema.names or "." in column or ", " in column:
        return str(finding["error"])
    return f"{file} has no column {column!r}{near_and_all(column, plan.schema.names)}"


def describe_dataset(report: Report, found: Manifest) -> None:
    """Fill in what was found over the whole dataset (`rollmill.dataset`), and tell of what is odd as warnings."""
    report.dataset_checks = found.facts["checks"]
    report.warnings += found.facts["warnings"]


def describe_version(report: Report, version: VersionManifest) -> None:
    """Fill in what became of the records."""
    total = version.total
    report.rows_in, report.rows_published = total.rows_in, total.rows_published
    report.rows_quarantined, report.rows_dropped = total.rows_quarantined, total.rows_dropped
    report.rows_written = total.rows_written
    reasons: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for entry in version.sources:
        reasons.update(entry.reasons)
        kept.update(entry.kept)
    report.reasons, report.kept = dict(sorted(reasons.items())), dict(sorted(kept.items()))


def refuse(report: Report, error: RollmillError) -> Report:
    """Turn a report into that of a refused run."""
    report.verdict = "refused"
    report.error = error.as_report()
    return report


def _changes(source: SourcePlan) -> list[str]:
    """Tell of harmless changes that reading made, such as half surrogate pairs replaced."""
    ingested = source.ingested
    counted = {file.path: ingested.inspection(file).counts for file in ingested.snapshot.files}
    return [f"{source.name}: {path}: {what} {n}" for path, counts in counted.items() for what, n in counts.items()]


def _skips(source: SourcePlan) -> list[str]:
    skipped = source.ingested.snapshot.skipped
    return [f"{source.name}: {item.path} was passed over: {item.why}." for item in skipped]
