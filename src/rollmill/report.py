"""The report of a run: what `--json` prints, and what is kept with the version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from rollmill.errors import RollmillError
from rollmill.plan import Plan, SourcePlan, UnitPlan
from rollmill.publish import VersionManifest
from rollmill.release import public_uri
from rollmill.sources.card import declared_splits
from rollmill.store import Manifest

STAGES = ("ingest", "validate", "normalize", "publish")


@dataclass
class StageStats:
    """What a stage took. `units` are files in ingest; `bytes_read` were asked of source data files."""

    units: int = 0
    cached: int = 0
    seconds: float = 0.0
    bytes_read: int = 0


@dataclass(frozen=True)
class Comparison:
    """A declared number beside the observed one. `file` is where it was declared."""

    field: str
    file: str
    declared: int | str | None
    observed: int | str | None
    verdict: Literal["equal", "differs", "missing"]


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
    error: dict[str, Any] | None = None
    version: dict[str, Any] | None = None
    destination: str = ""
    stages: dict[str, StageStats] = field(default_factory=lambda: {stage: StageStats() for stage in STAGES})
    sources: list[dict[str, Any]] = field(default_factory=list)
    declared_vs_observed: list[Comparison] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Give the JSON form."""
        return asdict(self)

    def public(self, number: int, digest: str) -> dict[str, Any]:
        """Give the form that is published beside the data: no local paths."""
        sources = [source | {"uri": public_uri(source["uri"])} for source in self.sources]
        shown = replace(self, sources=sources, destination="", version={"number": number, "digest": digest})
        return shown.as_json()


def describe_plan(report: Report, plan: Plan) -> None:
    """Fill in the sources and what they declare, as far as ingest knows them."""
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
            }
        )
        report.rows_in += sum(splits.values())
        ingested = source.ingested
        compared = compare_declared(snapshot.card, snapshot.files, ingested.inspections, splits=ingested.source.splits)
        report.declared_vs_observed += compared
        report.warnings += [*snapshot.warnings, *_skips(source), *_changes(source), *_drift(compared)]


def describe_verdicts(report: Report, verdicts: Iterable[tuple[UnitPlan, Manifest]]) -> None:
    """Fill in what was put aside and why, and tell of checks that failed as warnings."""
    failed: Counter[tuple[str, str, str]] = Counter()
    reasons: Counter[str] = Counter()
    for plan, verdict in verdicts:
        for part in verdict.facts["parts"].values():
            reasons.update(part["reasons"])
        for finding in verdict.facts["findings"]:
            if finding["severity"] != "critical" and finding["success"] is False:
                failed[plan.unit.source, finding["expectation"], finding["column"] or "table"] += finding["unexpected"]
    report.reasons = dict(sorted(reasons.items()))
    report.rows_quarantined = reasons.total()
    report.warnings += [
        f"{source}: {expectation} ({column}) fails" + (f" for {count} records." if count else ".")
        for (source, expectation, column), count in failed.items()
    ]


def describe_version(report: Report, version: VersionManifest) -> None:
    """Fill in what became of the records."""
    total = version.total
    report.rows_in, report.rows_published = total.rows_in, total.rows_published
    report.rows_quarantined, report.rows_dropped = total.rows_quarantined, total.rows_dropped
    report.rows_written = total.rows_written
    reasons: Counter[str] = Counter()
    for entry in version.sources:
        reasons.update(entry.reasons)
    report.reasons = dict(sorted(reasons.items()))


def refuse(report: Report, error: RollmillError) -> Report:
    """Turn a report into that of a refused run."""
    report.verdict = "refused"
    report.error = error.as_report()
    return report


def compare_declared(
    card: Mapping[str, Any], files: Any, inspections: Mapping[str, Any], *, splits: Collection[str] = ()
) -> list[Comparison]:
    """Set the card's declared splits and example counts beside what the files hold; of `splits` only, if given."""
    observed: dict[tuple[str, str], int] = {}
    for file in files:
        place = (file.config, file.split)
        observed[place] = observed.get(place, 0) + inspections[file.sha256].rows
    compared = []
    for config in sorted({config for config, _ in observed}):
        rows = {split: count for (of, split), count in observed.items() if of == config}
        declared = {s: facts for s, facts in declared_splits(dict(card), config).items() if not splits or s in splits}
        prefix = "" if config == "default" else f"{config}."
        for split, facts in declared.items():
            compared.append(_compare(f"{prefix}{split}.num_examples", facts.get("num_examples"), rows.get(split)))
        if declared:
            compared.append(_compare(f"{prefix}splits", len(declared), len(rows)))
    return [comparison for comparison in compared if comparison.declared is not None]


def _compare(name: str, declared: int | None, observed: int | None) -> Comparison:
    verdict: Literal["equal", "differs", "missing"]
    verdict = "missing" if observed is None else "equal" if declared == observed else "differs"
    return Comparison(name, "README.md", declared, observed, verdict)


def _drift(compared: list[Comparison]) -> list[str]:
    return [
        f"{c.file} declares {c.field} = {c.declared}, the files hold {'none' if c.observed is None else c.observed}."
        for c in compared
        if c.verdict != "equal"
    ]


def _changes(source: SourcePlan) -> list[str]:
    """Tell of harmless changes that reading made, such as half surrogate pairs replaced."""
    ingested = source.ingested
    counted = {file.path: ingested.inspection(file).counts for file in ingested.snapshot.files}
    return [f"{source.name}: {path}: {what} {n}" for path, counts in counted.items() for what, n in counts.items()]


def _skips(source: SourcePlan) -> list[str]:
    skipped = source.ingested.snapshot.skipped
    return [f"{source.name}: {item.path} was passed over: {item.why}." for item in skipped]
