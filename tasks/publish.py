"""Publish as a Prefect task: one run per version."""

from __future__ import annotations

from prefect import task
from prefect.cache_policies import NO_CACHE

from rollmill.config import Pipeline
from rollmill.progress import advance
from rollmill.publish import FolderDestination, Outcome, VersionManifest
from rollmill.report import Report
from rollmill.store import FolderStore
from rollmill.tasks.log import stage_log


@task(name="publish", task_run_name="publish {version.pipeline}", cache_policy=NO_CACHE, persist_result=False)
def publish(
    pipeline: Pipeline, version: VersionManifest, report: Report, parent: str | None, store: FolderStore
) -> Outcome:
    """Make a version current at the destination. `parent` is the digest of the version it was planned against."""
    outcome = FolderDestination(pipeline.destination_path).publish(
        version,
        lambda number: report.public(number, version.digest),
        store.object_path,
        expected_parent=parent,
        allow_shrink=pipeline.allow_shrink,
        on_file=lambda file, _copied: advance("publish", file.rows),
    )
    stage_log().info(
        "version %d (%s): %d files written, %d bytes", outcome.number, outcome.digest[:12], outcome.files_written,
        outcome.bytes_written,
    )  # fmt: skip
    return outcome
