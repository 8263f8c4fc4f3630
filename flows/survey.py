"""What a run would do, and how much of it is done: the `plan` command."""

from __future__ import annotations

from rollmill.config import Pipeline
from rollmill.expectations.suites import suite_digest, suite_for
from rollmill.flows.launch import known_plan
from rollmill.ingest import ingest
from rollmill.normalize import STAGE as NORMALIZE
from rollmill.plan import Plan, make_plan
from rollmill.store import FolderStore
from rollmill.verdicts import STAGE as VALIDATE


def survey(pipeline: Pipeline) -> tuple[Plan, dict[str, tuple[int, int]]]:
    """Plan a run, looking at files that are new. Gives per stage how many units there are, and how many are to do."""
    store = FolderStore(pipeline.store_path)
    plan = known_plan(pipeline)
    if plan is None:
        ingested = [ingest(source, store, workers=pipeline.workers)[0] for source in pipeline.sources]
        plan = make_plan(pipeline, ingested, lambda layout, schema: suite_digest(suite_for(layout, schema)))
    keys = {
        VALIDATE: [unit.validate_key for unit in plan.units],
        NORMALIZE: [unit.normalize_key for unit in plan.units],
    }
    todo = {
        stage: (len(of_stage), sum(store.get(stage, key) is None for key in of_stage))
        for stage, of_stage in keys.items()
    }
    return plan, todo
