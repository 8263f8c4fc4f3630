"""Start a run from this process: nothing to do ends at once, else the flow runs on a server that is there for it.

Nothing here imports Prefect or Great Expectations before there is work.
"""

from __future__ import annotations

import time
from importlib import import_module

from rollmill.config import Pipeline, Validation
from rollmill.dataset import STAGE as DATASET
from rollmill.declared import refuse_drift
from rollmill.errors import RollmillError
from rollmill.expectations.data_docs.place import existing_index
from rollmill.expectations.data_docs.site import entries_of
from rollmill.expectations.dataset import key_of
from rollmill.expectations.suites import digest_for
from rollmill.flows.server import configured_server, server
from rollmill.ingest import NotIngestedError, ingest_known
from rollmill.limits import judge_limits
from rollmill.normalize import STAGE as NORMALIZE
from rollmill.plan import Plan, UnitPlan, make_plan
from rollmill.progress import advance, begin
from rollmill.publish import FolderDestination
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
from rollmill.store import FolderStore, Manifest
from rollmill.verdicts import STAGE as VALIDATE

_PRELOADED = ("rollmill.flows.pipeline", "rollmill.expectations.validate")


def launch(pipeline: Pipeline) -> Report:
    """Run a pipeline to its end. Raises RollmillError; its `report` is set if stages had run."""
    if configured_server() is None:
        report = unchanged(pipeline)
        if report is not None:
            return report
    begin("start", 1)
    with server(preload=_preload):
        advance("start", 1)
        from rollmill.flows.pipeline import run_pipeline, task_runner

        return run_pipeline.with_options(task_runner=task_runner(pipeline.workers))(pipeline)


def _preload() -> None:
    """Import what takes seconds while the server starts."""
    for name in _PRELOADED:
        import_module(name)


def known_plan(pipeline: Pipeline) -> Plan | None:
    """Plan from what the store knows, opening no data file; None if a file is new to it.

    Raises what a run would raise about sources, layouts and drifted columns.
    """
    store = FolderStore(pipeline.store_path)
    try:
        ingested = [ingest_known(source, store) for source in pipeline.sources]
    except NotIngestedError:
        return None
    return make_plan(pipeline, ingested, digest_for)


def unchanged(pipeline: Pipeline) -> Report | None:
    """Report a pipeline whose version is at its destination already; None if there is work.

    Raises QuarantineLimitError if the limits forbid what was put aside, and DriftError for a false claim or, with
    strict_card, any difference from what is declared; its `report` is set.
    """
    start = time.perf_counter()
    destination = FolderDestination(pipeline.destination_path)
    current = destination.check(pipeline.name)
    plan = known_plan(pipeline)
    if plan is None or current is None:
        return None
    store = FolderStore(pipeline.store_path)
    verdicts = _all(store, VALIDATE, [unit.validate_key for unit in plan.units])
    done = _all(store, NORMALIZE, [unit.normalize_key for unit in plan.units])
    found = store.get(DATASET, key_of(plan))
    if verdicts is None or done is None or found is None:
        return None
    judged = [(unit, verdicts[unit.validate_key]) for unit in plan.units]
    report = Report("unchanged", destination=str(pipeline.destination_path))
    describe_plan(report, plan)
    describe_verdicts(report, judged)
    describe_declared(report, plan, judged)
    _judge(report, judged, pipeline.validation)
    version = make_version(plan, done).keeping(destination.read_manifest())
    if version.digest != current.digest or not destination.holds(version):
        return None
    destination.repair(pipeline.name)
    describe_dataset(report, found)
    describe_version(report, version)
    report.version = {"number": current.number, "digest": current.digest}
    report.data_docs = existing_index(store, pipeline.name, [entry.key for entry in entries_of(judged, found)])
    _all_cached(report, plan, len(version.files), time.perf_counter() - start)
    return report


def _judge(report: Report, judged: list[tuple[UnitPlan, Manifest]], validation: Validation) -> None:
    try:
        refuse_drift(report.declared_vs_observed, strict_card=validation.strict_card)
        judge_limits(judged, validation.max_quarantine)
    except RollmillError as error:
        error.report = refuse(report, error)  # type: ignore[attr-defined]
        raise


def _all(store: FolderStore, stage: str, keys: list[str]) -> dict[str, Manifest] | None:
    found = {}
    for key in keys:
        manifest = store.get(stage, key)
        if manifest is None:
            return None
        found[key] = manifest
    return found


def _all_cached(report: Report, plan: Plan, files: int, seconds: float) -> None:
    counts = {
        "ingest": sum(len(source.ingested.snapshot.files) for source in plan.sources),
        "validate": len(plan.units),
        "normalize": len(plan.units),
        "publish": files,
    }
    for stage, units in counts.items():
        report.stages[stage].units = report.stages[stage].cached = units
    report.stages["ingest"].seconds = round(seconds, 3)
