"""Validate as a Prefect task: one run per batch of units."""

from __future__ import annotations

from contextlib import closing

from prefect import task
from prefect.cache_policies import NO_CACHE

from rollmill.expectations.units import validate_unit
from rollmill.normalize import UnitWork
from rollmill.progress import advance
from rollmill.sources.index import StatIndex
from rollmill.store import FolderStore
from rollmill.tasks.batches import Batch
from rollmill.tasks.log import stage_log
from rollmill.verdicts import told


@task(name="validate", task_run_name="validate {batch.name}", cache_policy=NO_CACHE, persist_result=False)
def validate(batch: Batch, store: FolderStore) -> dict[str, UnitWork]:
    """Judge units by their suites. Returns the work done by validate key."""
    done = {}
    with closing(StatIndex(store.stat_index)) as index:
        for plan in batch.units:
            work = validate_unit(plan, store, index.digest)
            done[plan.validate_key] = work
            found = [one for part in work.manifest.facts["parts"].values() for one in told(part, plan.keep)]
            aside = sum(one.count for one in found if not one.kept)
            stage_log().info("%s: %d records, %d put aside%s", plan.unit.name, plan.unit.rows, aside, _known(work))
            advance("validate", plan.unit.rows)
    return done


def _known(work: UnitWork) -> str:
    return " (known)" if work.cached else ""
