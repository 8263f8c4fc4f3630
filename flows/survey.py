"""What a run would do, and how much of it is done: the `plan` command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rollmill.config import Pipeline
from rollmill.declared import arrow_sizes, compare_plan, refuse_drift
from rollmill.errors import RollmillError
from rollmill.expectations.suites import digest_for
from rollmill.flows.launch import known_plan
from rollmill.ingest import ingest
from rollmill.limits import judge_limits
from rollmill.normalize import STAGE as NORMALIZE
from rollmill.plan import Plan, make_plan
from rollmill.store import FolderStore
from rollmill.verdicts import STAGE as VALIDATE


@dataclass(frozen=True)
class Survey:
    """A plan; per stage how many units there are and how many are to do; and why a run would be refused, if known.

    `drift` tells of what is declared and not there.
    """

    plan: Plan
    todo: Mapping[str, tuple[int, int]]
    refusal: str | None
    drift: tuple[str, ...]


def planned(pipeline: Pipeline) -> Plan:
    """Plan a run, looking at files that are new. Raises what a run would raise about sources and layouts."""
    plan = known_plan(pipeline)
    if plan is not None:
        return plan
    store = FolderStore(pipeline.store_path)
    ingested = [ingest(source, store, workers=pipeline.workers)[0] for source in pipeline.sources]
    return make_plan(pipeline, ingested, digest_for)


def survey(pipeline: Pipeline) -> Survey:
    """Survey a run (see `planned`)."""
    store, plan = FolderStore(pipeline.store_path), planned(pipeline)
    judged = [(unit, store.get(VALIDATE, unit.validate_key)) for unit in plan.units]
    undone = sum(store.get(NORMALIZE, unit.normalize_key) is None for unit in plan.units)
    verdicts = [(unit, verdict) for unit, verdict in judged if verdict is not None]
    todo = {VALIDATE: (len(judged), len(judged) - len(verdicts)), NORMALIZE: (len(judged), undone)}
    complete = verdicts if len(verdicts) == len(judged) else []
    compared = compare_plan(plan, arrow_sizes(complete))
    refusal = None
    try:
        refuse_drift(compared, strict_card=pipeline.validation.strict_card)
        judge_limits(complete, pipeline.validation.max_quarantine)
    except RollmillError as error:
        refusal = error.message
    drift = tuple(comparison.sentence() for comparison in compared if comparison.drifts)
    return Survey(plan, todo, refusal, drift)
