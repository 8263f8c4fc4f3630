"""Normalize as a Prefect task: one run per batch of units."""

from __future__ import annotations

from contextlib import closing

from prefect import task
from prefect.cache_policies import NO_CACHE

from rollmill.normalize import UnitWork, normalize_unit
from rollmill.progress import advance
from rollmill.sources.index import StatIndex
from rollmill.store import FolderStore, Manifest
from rollmill.tasks.batches import Batch
from rollmill.tasks.log import stage_log
from rollmill.verdicts import load_verdict


@task(name="normalize", task_run_name="normalize {batch.name}", cache_policy=NO_CACHE, persist_result=False)
def normalize(batch: Batch, verdicts: dict[str, Manifest], store: FolderStore) -> dict[str, UnitWork]:
    """Turn units into rollout shards. `verdicts` holds validate manifests by key. Returns the work by normalize key."""
    done = {}
    with closing(StatIndex(store.stat_index)) as index:
        for plan in batch.units:
            verdict = load_verdict(store, verdicts[plan.validate_key])
            work = normalize_unit(plan, verdict, store, index.digest)
            done[plan.normalize_key] = work
            facts = work.manifest.facts
            stage_log().info(
                "%s: %d published, %d put aside%s", plan.unit.name, facts["rows_published"], facts["rows_quarantined"],
                " (known)" if work.cached else "",
            )  # fmt: skip
            advance("normalize", plan.unit.rows)
    return done
