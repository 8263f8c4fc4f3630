"""Validation of the whole dataset as a Prefect task: one run per version."""

from __future__ import annotations

from prefect import task
from prefect.cache_policies import NO_CACHE

from rollmill.expectations import dataset as library
from rollmill.normalize import UnitWork
from rollmill.plan import Plan
from rollmill.store import FolderStore, Manifest
from rollmill.tasks.log import stage_log


@task(
    name="validate-dataset",
    task_run_name="validate dataset {plan.pipeline.name}",
    cache_policy=NO_CACHE,
    persist_result=False,
)
def validate_dataset(plan: Plan, done: dict[str, Manifest], store: FolderStore) -> UnitWork:
    """Judge all units together. `done` holds the normalize manifests by key."""
    work = library.validate_dataset(plan, done, store)
    facts = work.manifest.facts
    stage_log().info(
        "dataset: %d checks, %d warnings%s",
        len(facts["checks"]),
        len(facts["warnings"]),
        " (known)" if work.cached else "",
    )
    return work
