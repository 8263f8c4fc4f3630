"""The four stages in one process, without Prefect: `mill(folder, …)` makes a published dataset of source folders."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollmill.config import Pipeline, build_pipeline
from rollmill.declared import refuse_drift
from rollmill.expectations import digest_for
from rollmill.expectations.dataset import validate_dataset
from rollmill.expectations.units import validate_unit
from rollmill.ingest import ingest
from rollmill.limits import judge_limits
from rollmill.normalize import QUARANTINE, normalize_unit
from rollmill.plan import Ingested, Plan, make_plan
from rollmill.publish import FolderDestination, Outcome, VersionManifest
from rollmill.release import make_version
from rollmill.report import Report, describe_dataset, describe_declared, describe_plan, describe_version
from rollmill.restore import Restored, restore
from rollmill.sources.index import StatIndex
from rollmill.store import FolderStore, Manifest
from rollmill.verdicts import load_verdict


def plan_of(pipeline: Pipeline, ingested: Iterable[Ingested]) -> Plan:
    """Plan with the suites there are."""
    return make_plan(pipeline, ingested, digest_for)


@dataclass(frozen=True)
class Milled:
    """A published dataset, and all that was made on the way.

    `verdicts` and `done` are manifests by key, `dataset` is what was found over all units.
    """

    plan: Plan
    verdicts: Mapping[str, Manifest]
    done: Mapping[str, Manifest]
    dataset: Manifest
    version: VersionManifest
    outcome: Outcome
    destination: FolderDestination
    store: FolderStore
    report: Report

    def rollouts(self) -> pa.Table:
        """Read all published rows, in reading order."""
        return pa.concat_tables(pq.read_table(self.destination.data_path(file)) for file in self.version.files)

    def quarantined(self) -> list[dict[str, Any]]:
        """Read all quarantine files, in the order of the units."""
        found = (self.done[unit.normalize_key].payload(QUARANTINE) for unit in self.plan.units)
        paths = [self.store.object_path(payload.sha256) for payload in found if payload]
        return [row for path in paths for row in pq.read_table(path).to_pylist()]

    def restored(self, out: Path, *, with_quarantine: bool = False, **selection: Any) -> tuple[pa.Table, Restored]:
        """Restore a source (the only one, unless named) and read what was written."""
        selection.setdefault("source", self.version.sources[0].name)
        store = self.store if with_quarantine else None
        result = restore(self.destination, out, store=store, **selection)
        return pq.read_table(out), result


class Mill:
    """Makes datasets below a folder. Each call runs all stages: ingest, validate, normalize, publish."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def pipeline(self, *sources: Path | Mapping[str, Any], **options: Any) -> Pipeline:
        """Build a pipeline of folders, or of sources with options. By default any share may be put aside."""
        listed = [dict(source) if isinstance(source, Mapping) else {"uri": str(source)} for source in sources]
        values: dict[str, Any] = {
            "name": "mill",
            "store": str(self.root / "store"),
            "destination": str(self.root / "dest"),
        }
        values |= {"validation": {"max_quarantine": 1.0}, "workers": 2}
        return build_pipeline(**(values | {"sources": listed} | options))

    def plan(self, *sources: Path | Mapping[str, Any], **options: Any) -> Plan:
        """Ingest and plan."""
        pipeline = self.pipeline(*sources, **options)
        store = FolderStore(pipeline.store_path)
        return plan_of(pipeline, [ingest(source, store, workers=2)[0] for source in pipeline.sources])

    def __call__(self, *sources: Path | Mapping[str, Any], **options: Any) -> Milled:
        plan = self.plan(*sources, **options)
        store = FolderStore(plan.pipeline.store_path)
        destination = FolderDestination(plan.pipeline.destination_path)
        digest = StatIndex(store.stat_index).digest
        report = Report("published", destination=str(destination.path))
        describe_plan(report, plan)
        strict = plan.pipeline.validation.strict_card
        refuse_drift(report.declared_vs_observed, strict_card=strict)
        verdicts = {unit.validate_key: validate_unit(unit, store, digest).manifest for unit in plan.units}
        judged = [(unit, verdicts[unit.validate_key]) for unit in plan.units]
        describe_declared(report, plan, judged)
        judge_limits(judged, plan.pipeline.validation.max_quarantine)
        refuse_drift(report.declared_vs_observed, strict_card=strict)
        done = {
            unit.normalize_key: normalize_unit(
                unit, load_verdict(store, verdicts[unit.validate_key]), store, digest
            ).manifest
            for unit in plan.units
        }
        found = validate_dataset(plan, done, store).manifest
        describe_dataset(report, found)
        version = make_version(plan, done)
        describe_version(report, version)
        current = destination.current()
        outcome = destination.publish(
            version,
            lambda number: report.public(number, version.digest),
            store.object_path,
            expected_parent=current.digest if current else None,
            allow_shrink=True,
        )
        return Milled(plan, verdicts, done, found, version, outcome, destination, store, report)


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    """A mill with a store and a destination of its own."""
    return Mill(tmp_path / "mill")


def write_parquet(path: Path, data: pa.Table | Mapping[str, Any], **options: Any) -> Path:
    """Write a parquet file, its folders too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(data if isinstance(data, pa.Table) else pa.table(dict(data)), path, **options)
    return path


def write_lines(path: Path, records: Iterable[Mapping[str, Any] | bytes]) -> Path:
    """Write JSON lines, packed if the name ends in .gz; bytes are lines as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [r if isinstance(r, bytes) else json.dumps(r, ensure_ascii=False).encode() for r in records]
    data = b"".join(line + b"\n" for line in lines)
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path
