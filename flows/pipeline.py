"""The flow: ingest -> validate -> normalize -> publish."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

import polars as pl  # noqa: F401  (its threads start before the workers')
from prefect import flow
from prefect.artifacts import create_markdown_artifact
from prefect.futures import PrefectFuture
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from rollmill.config import Pipeline
from rollmill.dataset import STAGE as DATASET
from rollmill.declared import refuse_drift
from rollmill.errors import RollmillError
from rollmill.expectations import digest_for
from rollmill.expectations.data_docs.site import build_site, entries_of
from rollmill.expectations.dataset import key_of
from rollmill.expectations.own import check_own
from rollmill.limits import judge_limits
from rollmill.normalize import UnitWork
from rollmill.plan import Ingested, Plan, UnitPlan, make_plan
from rollmill.progress import begin
from rollmill.publish import FolderDestination, Outcome
from rollmill.release import make_version
from rollmill.report import (
    Report,
    describe_dataset,
    describe_declared,
    describe_plan,
    describe_verdicts,
    describe_version,
    refuse,
)
from rollmill.roots import Artifacts, RunLease, artifacts_of, held, record_ref
from rollmill.store import FolderStore, Manifest
from rollmill.tasks.batches import batches
from rollmill.tasks.dataset import validate_dataset
from rollmill.tasks.ingest import ingest
from rollmill.tasks.normalize import normalize
from rollmill.tasks.publish import publish
from rollmill.tasks.validate import validate

_MOST_DRIFT: Final = 50
_MARKUP: Final = re.compile(r"([\\`*_\[\]|<>~#&])")


def task_runner(workers: int) -> TaskRunner[PrefectFuture[Any]]:
    """Give the runner for so many units at once."""
    return cast("TaskRunner[PrefectFuture[Any]]", ThreadPoolTaskRunner(max_workers=workers))


@flow(name="rollmill", flow_run_name="{pipeline.name}", task_runner=task_runner(2), persist_result=False)
def run_pipeline(pipeline: Pipeline) -> Report:
    """Build and publish one dataset: four stages, each resumed from the store where it was done before.

    Raises RollmillError with the report of the refused run as its `report`.
    """
    run = _Run(pipeline)
    try:
        with held(run.store, pipeline.name) as lease:
            return run.all_stages(lease)
    except RollmillError as error:
        error.report = refuse(run.report, error)  # type: ignore[attr-defined]
        raise
    finally:
        run.write_docs()
        create_markdown_artifact(_summary(run.report), key="rollmill-summary", description="What the run found and did")


class _Run:
    """One run's state: the report, and the store all stages share."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.store = FolderStore(pipeline.store_path)
        self.report = Report("published", destination=str(pipeline.destination_path))
        self.judged: list[tuple[UnitPlan, Manifest]] = []
        self.dataset: Manifest | None = None

    def all_stages(self, lease: RunLease) -> Report:
        check_own(self.pipeline.sources)
        destination = FolderDestination(self.pipeline.destination_path)
        current = destination.check(self.pipeline.name)
        plan = make_plan(self.pipeline, self._ingest(), digest_for)
        lease.needs(_artifacts(plan))
        describe_plan(self.report, plan)
        self._refuse_drift()
        verdicts = self._validate(plan)
        self.judged = [(unit, verdicts[unit.validate_key]) for unit in plan.units]
        describe_verdicts(self.report, self.judged)
        describe_declared(self.report, plan, self.judged)
        judge_limits(self.judged, self.pipeline.validation.max_quarantine)
        self._refuse_drift()
        done = self._normalize(plan, verdicts)
        self.dataset = self._validate_dataset(plan, done)
        describe_dataset(self.report, self.dataset)
        version = make_version(plan, done)
        version = version.keeping(destination.read_manifest() if current else None)
        describe_version(self.report, version)
        begin("publish", version.total.rows_written)
        with self._timed("publish") as stats:
            stats.units = len(version.files)
            parent = current.digest if current else None
            outcome = publish(self.pipeline, version, self.report, parent, self.store)
        stats.cached = stats.units - outcome.files_written
        self.report.verdict = "unchanged" if outcome.unchanged else "published"
        self.report.version = {"number": outcome.number, "digest": outcome.digest}
        self._note(outcome, plan)
        return self.report

    def _note(self, outcome: Outcome, plan: Plan) -> None:
        """Keep what the version was made of from being pruned."""
        place = str(self.pipeline.destination_path)
        record_ref(
            self.store,
            place,
            pipeline=self.pipeline.name,
            number=outcome.number,
            digest=outcome.digest,
            artifacts=_artifacts(plan),
        )

    def write_docs(self) -> None:
        """Show what was found, refused or not."""
        if not self.judged:
            return
        try:
            index = build_site(self.store, self.pipeline.name, entries_of(self.judged, self.dataset))
            self.report.data_docs = str(index)
        except Exception as error:  # noqa: BLE001  (what was judged stands, shown or not)
            self.report.warnings.append(f"There are no Data Docs of this run: {type(error).__name__}: {error}")

    def _refuse_drift(self) -> None:
        refuse_drift(self.report.declared_vs_observed, strict_card=self.pipeline.validation.strict_card)

    def _ingest(self) -> list[Ingested]:
        begin("ingest", len(self.pipeline.sources))
        with self._timed("ingest") as stats:
            futures = [ingest.submit(s, self.store, self.pipeline.workers) for s in self.pipeline.sources]
            results = [future.result() for future in futures]
        for _, work in results:
            stats.units, stats.cached = stats.units + work.files, stats.cached + work.cached
            stats.bytes_read += work.bytes_read
        return [found for found, _ in results]

    def _validate(self, plan: Plan) -> dict[str, Manifest]:
        begin("validate", self.report.rows_in)
        with self._timed("validate"):
            futures = [validate.submit(batch, self.store) for batch in batches(plan.units)]
            return self._collect("validate", futures)

    def _normalize(self, plan: Plan, verdicts: dict[str, Manifest]) -> dict[str, Manifest]:
        begin("normalize", self.report.rows_in)
        with self._timed("normalize"):
            futures = [
                normalize.submit(batch, {u.validate_key: verdicts[u.validate_key] for u in batch.units}, self.store)
                for batch in batches(plan.units)
            ]
            return self._collect("normalize", futures)

    def _validate_dataset(self, plan: Plan, done: dict[str, Manifest]) -> Manifest:
        with self._timed("validate"):
            return validate_dataset(plan, done, self.store).manifest

    def _collect(self, stage: str, futures: list[Any]) -> dict[str, Manifest]:
        stats = self.report.stages[stage]
        done: dict[str, UnitWork] = {}
        for future in futures:
            done.update(future.result())
        stats.units, stats.cached = len(done), sum(work.cached for work in done.values())
        stats.bytes_read = sum(work.bytes_read for work in done.values())
        return {key: work.manifest for key, work in done.items()}

    @contextmanager
    def _timed(self, stage: str) -> Iterator[Any]:
        start = time.perf_counter()
        try:
            yield self.report.stages[stage]
        finally:
            spent = self.report.stages[stage].seconds + time.perf_counter() - start
            self.report.stages[stage].seconds = round(spent, 3)


def _artifacts(plan: Plan) -> Artifacts:
    """List all artifacts of a run, that of the whole dataset too."""
    return {**artifacts_of(plan), DATASET: [key_of(plan)]}


def _row(*cells: object) -> str:
    """Write a row of a table; what sources named is taken literally."""
    texts = ("" if cell is None else _MARKUP.sub(r"\\\1", str(cell)) for cell in cells)
    return f"| {' | '.join(texts)} |"


def _summary(report: Report) -> str:
    """The run's table in the Prefect UI: counts and codes, no text of rows."""
    lines = ["| what | records |", "| --- | ---: |"]
    lines += [f"| {name} | {getattr(report, name)} |" for name in ("rows_in", "rows_published", "rows_quarantined")]
    lines += [f"| put aside: {code} | {count} |" for code, count in sorted(report.reasons.items())]
    lines += [f"| kept: {code} | {count} |" for code, count in sorted(report.kept.items())]
    lines += ["", f"Verdict: **{report.verdict}**"]
    if drift := [comparison for comparison in report.declared_vs_observed if comparison.drifts]:
        lines += ["", "| source | field | in | declared | observed |", "| --- | --- | --- | ---: | ---: |"]
        lines += [_row(c.source, c.field, c.file, c.declared, c.observed) for c in drift[:_MOST_DRIFT]]
    if report.data_docs:
        lines += ["", f"Data Docs, on the machine of the run: [{report.data_docs}]({Path(report.data_docs).as_uri()})"]
    lines += ["", "| stage | units | known | seconds | bytes read |", "| --- | ---: | ---: | ---: | ---: |"]
    lines += [f"| {n} | {s.units} | {s.cached} | {s.seconds} | {s.bytes_read} |" for n, s in report.stages.items()]
    return "\n".join(lines)
