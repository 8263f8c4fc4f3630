"""Judge a whole dataset by the facts of all its rows, before it is published. Light to import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from rollmill.dataset import STAGE, DatasetCheck, dataset_facts, dataset_key
from rollmill.errors import LayoutFaultError
from rollmill.expectations import repeats
from rollmill.expectations.checkpoints import checkpoint_measures, sequence_measures
from rollmill.expectations.facts import RolloutFacts, UnitFacts, facts_of_places, places
from rollmill.expectations.judgement import Judgement
from rollmill.expectations.measures import split_measures
from rollmill.expectations.stream import Frames
from rollmill.expectations.suites import suite_digest
from rollmill.expectations.suites.dataset import CHECKPOINTS, SEQUENCES, SPLITS, SUITES, Measure
from rollmill.expectations.suites.unified import TWICE, UNIFIED
from rollmill.expectations.told import lines
from rollmill.facts import FACTS
from rollmill.normalize import ROLLOUTS, UnitWork
from rollmill.plan import Plan
from rollmill.publish import merged_split
from rollmill.store import FolderStore, Manifest


def key_of(plan: Plan) -> str:
    """Key of what is found over a plan's dataset."""
    return dataset_key(plan, [suite_digest(suite) for suite in (UNIFIED, *SUITES)])


def validate_dataset(plan: Plan, done: Mapping[str, Manifest], store: FolderStore) -> UnitWork:
    """Judge the dataset of a plan, or find it judged. `done` holds the normalize manifests by key.

    Raises LayoutFaultError if rows break the unified schema.
    """
    key = key_of(plan)
    known = store.get(STAGE, key)
    if known is not None:
        return UnitWork(known, cached=True, bytes_read=0)
    units = list(_units(plan, done, store))
    checks, results = _judge(units, plan.pipeline.name) if units else ([], [])
    facts = dataset_facts(checks, lines(checks), results)
    manifest = Manifest(STAGE, key, parents=tuple(unit.normalize_key for unit in plan.units), facts=facts)
    return UnitWork(store.put(manifest, {}), cached=False, bytes_read=0)


def _units(plan: Plan, done: Mapping[str, Manifest], store: FolderStore) -> Iterator[UnitFacts]:
    """Give the units that have rows, in the order of what is published."""
    for planned in plan.units:
        unit, manifest = planned.unit, done[planned.normalize_key]
        facts, rollouts = manifest.payload(FACTS), manifest.payload(ROLLOUTS)
        if facts is not None and rollouts is not None:
            yield UnitFacts(
                unit=unit.name,
                layout=planned.layout.tag,
                source=unit.source,
                config=unit.config,
                split=unit.split,
                merged=merged_split(unit.split),
                rows=facts.rows,
                facts=store.object_path(facts.sha256),
                rollouts=store.object_path(rollouts.sha256),
            )


def _judge(units: Sequence[UnitFacts], name: str) -> tuple[list[DatasetCheck], list[dict[str, object]]]:
    """Judge the rows one by one, then what was measured of them. Gives the checks and the results as JSON."""
    from rollmill.expectations.validate import validate_stream

    known, facts = places(units), facts_of_places(units)
    twice = repeats.twice(facts, "row_key"), repeats.twice(facts.filter("is_first"), "rollout_key")
    rows = validate_stream(RolloutFacts(units, *twice), UNIFIED, name=f"{name}: rows")
    faults = confirmed(rows.bad, units)
    refuse(faults, units)
    checks = list(_of_contract(faults))
    results = [rows.result]
    frames = (split_measures(facts, known), checkpoint_measures(facts, known), sequence_measures(known))
    for suite, measures, frame in zip(SUITES, (SPLITS, CHECKPOINTS, SEQUENCES), frames, strict=True):
        judgement = validate_stream(Frames(frame.schema, [frame]), suite, name=f"{name}: {suite.name}")
        checks += measured(frame, measures, judgement)
        results.append(judgement.result)
    return checks, results


def _of_contract(faults: pl.DataFrame) -> Iterator[DatasetCheck]:
    """Count per code of the unified suite the rows at fault."""
    counts = Counter(faults["reason"].to_list())
    for code in dict.fromkeys(str(check.reason) for check in UNIFIED.checks):
        yield DatasetCheck(code, "critical", success=counts[code] == 0, observed=counts[code], at_most=0)


def measured(frame: pl.DataFrame, measures: Sequence[Measure], judgement: Judgement) -> Iterator[DatasetCheck]:
    """Tell per measure and source where it failed; where it did not, only the place that came nearest."""
    for measure, failing in zip(measures, judgement.failing, strict=True):
        found = frame.with_row_index("row").filter(pl.col(measure.code).is_not_null())
        bad = found["row"].is_in(failing.implode()) if failing is not None else pl.lit(value=False)
        for _, rows in found.with_columns(bad=bad).group_by("source", maintain_order=True):
            all_of_source = [_check(row, measure) for row in rows.to_dicts()]
            failed = [check for check in all_of_source if not check.success]
            yield from failed or [max(all_of_source, key=lambda check: check.off)]


def _check(row: Mapping[str, object], measure: Measure) -> DatasetCheck:
    return DatasetCheck(
        check=measure.code,
        severity=measure.severity,
        success=not row["bad"],
        observed=float(f"{row[measure.code]:.6g}"),
        at_least=measure.at_least,
        at_most=measure.at_most,
        **{name: row.get(name) for name in ("source", "config", "split", "policy_step")},  # type: ignore[arg-type]
    )


def confirmed(bad: pl.DataFrame, units: Sequence[UnitFacts]) -> pl.DataFrame:
    """Give the rows that break the unified schema: unit (its position), row in it, reason. `bad` as in `Judgement`.

    What is said of an id on the ground of its key is left out unless the whole ids agree.
    """
    starts = pl.Series([0, *(unit.rows for unit in units)]).cum_sum()
    faults = bad.select("row", reason="reasons").explode("reason")
    at = starts.search_sorted(faults["row"], side="right") - 1
    located = faults.with_columns(pl.col("row") - starts.gather(at), unit=at)
    for reason, column in TWICE.items():
        located = located.filter((pl.col("reason") != reason) | _same_ids(located, units, reason, column))
    return located


def _same_ids(faults: pl.DataFrame, units: Sequence[UnitFacts], reason: str, column: str) -> pl.Series:
    """Say which faults of a reason have an id that another one has: keys hold only 8 of its 16 bytes.

    Among n ids two share a key by chance with a probability of about n²/2⁶⁵: 7 in 10 million at 5 million rows.
    """
    ids = pl.Series([None] * faults.height, dtype=pl.String)
    suspects = faults.with_row_index("at").filter(pl.col("reason") == reason)
    for (unit,), group in suspects.group_by("unit"):
        published = pl.read_parquet(units[unit].rollouts, columns=[column])[column]
        ids = ids.scatter(group["at"], published.gather(group["row"]))
    return ids.is_not_null() & ids.is_duplicated()


def refuse(faults: pl.DataFrame, units: Sequence[UnitFacts]) -> None:
    """Refuse a dataset with rows that break the unified schema. Raises LayoutFaultError with counts and first rows."""
    if not faults.height:
        return
    told = []
    for (reason,), rows in faults.group_by("reason", maintain_order=True):
        unit = units[rows["unit"][0]]
        first = f"first in row {rows['row'][0]} of what {unit.layout} made of {unit.unit}"
        told.append(f"{reason} in {rows.height} rows, {first}")
    raise LayoutFaultError(
        f"The rows of the dataset break the unified schema: {'; '.join(told)}. That is a fault of the layout, not of "
        "the data. Nothing is published; please report this."
    )
