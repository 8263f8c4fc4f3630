"""What a run would do, and how much of it is done: the `plan` command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rollmill.config import Pipeline
from rollmill.errors import RollmillError
from rollmill.expectations.suites import suite_digest, suite_for
from rollmill.flows.launch import known_plan
from rollmill.ingest import ingest
from rollmill.limits import judge_limits
from rollmill.normalize import STAGE as NORMALIZE
from rollmill.plan import Plan, make_plan
from rollmill.store import FolderStore
from rollmill.verdicts import STAGE as VALIDATE


@dataclass(frozen=True)
class Survey:
    """A plan; per stage how many units there are and how many are to do; and why a run would be refused, if known."""

    plan: Plan
    todo: Mapping[str, tuple[int, int]]
    refusal: str | None


def survey(pipeline: Pipeline) -> Survey:
    """Plan a run, looking at files that are new. Raises what a run would raise about sources and layouts."""
    store = FolderStore(pipeline.store_path)
    plan = known_plan(pipeline)
    if plan is None:
        ingested = [ingest(source, store, workers=pipeline.workers)[0] for source in pipeline.sources]
        plan = make_plan(pipeline, ingested, lambda layout, schema: suite_digest(suite_for(layout, schema)))
    judged = [(unit, store.get(VALIDATE, unit.validate_key)) for unit in plan.units]
    undone = sum(store.get(NORMALIZE, unit.normalize_key) is None for unit in plan.units)
    verdicts = [(unit, verdict) for unit, verdict in judged if verdict is not None]
    todo = {VALIDATE: (len(judged), len(judged) - len(verdicts)), NORMALIZE: (len(judged), undone)}
    refusal = None
    if len(verdicts) == len(judged):
        try:
            judge_limits(verdicts, pipeline.validation.max_quarantine)
        except RollmillError as error:
            refusal = error.message
    return Survey(plan, todo, refusal)
