"""The flow: ingest -> validate -> normalize -> publish."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import polars as pl  # noqa: F401  (its threads start before the workers')
from prefect import flow
from prefect.artifacts import create_markdown_artifact
from prefect.futures import PrefectFuture
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from rollmill.config import Pipeline
from rollmill.errors import RollmillError
from rollmill.expectations import suite_digest, suite_for
from rollmill.limits import judge_limits
from rollmill.normalize import UnitWork
from rollmill.plan import Ingested, Plan, make_plan
from rollmill.progress import begin
from rollmill.publish import FolderDestination
from rollmill.release import make_version
from rollmill.report import Report, describe_plan, describe_verdicts, describe_version, refuse
from rollmill.store import FolderStore, Manifest
from rollmill.tasks.batches import batches
from rollmill.tasks.ingest import ingest
from rollmill.tasks.normalize import normalize
from rollmill.tasks.publish import publish
from rollmill.tasks.validate import validate


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
        return run.all_stages()
    except RollmillError as error:
        error.report = refuse(run.report, error)  # type: ignore[attr-defined]
        raise
    finally:
        create_markdown_artifact(_summary(run.report), key="rollmill-summary", description="What the run found and did")


class _Run:
    """One run's state: the report, and the store all stages share."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.store = FolderStore(pipeline.store_path)
        self.report = Report("published", destination=str(pipeline.destination_path))

    def all_stages(self) -> Report:
        destination = FolderDestination(self.pipeline.destination_path)
        current = destination.check(self.pipeline.name)
        plan = make_plan(self.pipeline, self._ingest(), suite_digest=lambda name, s: suite_digest(suite_for(name, s)))
        describe_plan(self.report, plan)
        verdicts = self._validate(plan)
        judged = [(unit, verdicts[unit.validate_key]) for unit in plan.units]
        describe_verdicts(self.report, judged)
        judge_limits(judged, self.pipeline.validation.max_quarantine)
        version = make_version(plan, self._normalize(plan, verdicts))
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
        return self.report

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
            self.report.stages[stage].seconds = round(time.perf_counter() - start, 3)


def _summary(report: Report) -> str:
    """The run's table in the Prefect UI: counts and codes, no text of rows."""
    lines = ["| what | records |", "| --- | ---: |"]
    lines += [f"| {name} | {getattr(report, name)} |" for name in ("rows_in", "rows_published", "rows_quarantined")]
    lines += [f"| put aside: {code} | {count} |" for code, count in sorted(report.reasons.items())]
    lines += ["", f"Verdict: **{report.verdict}**"]
    lines += ["", "| stage | units | known | seconds | bytes read |", "| --- | ---: | ---: | ---: | ---: |"]
    lines += [f"| {n} | {s.units} | {s.cached} | {s.seconds} | {s.bytes_read} |" for n, s in report.stages.items()]
    return "\n".join(lines)
