"""Normalize: the good records of a unit -> rollout parquet and facts of its rows, the others -> quarantine parquet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rollmill.errors import ConservationError
from rollmill.facts import FACTS, FACTS_SCHEMA, facts_of
from rollmill.gathering import Gathering
from rollmill.keeping import KeptFlags
from rollmill.layouts import Origin
from rollmill.plan import UnitPlan
from rollmill.quarantine import QuarantineWriter
from rollmill.reading import DigestOf, PartRecords, UnitReader
from rollmill.schema import SCHEMA
from rollmill.shards import ShardWriter
from rollmill.store import FolderStore, Manifest, Payload
from rollmill.verdicts import Verdict

STAGE = "normalize"
ROLLOUTS = "rollouts"
QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True)
class UnitWork:
    """What a stage did for one unit."""

    manifest: Manifest
    cached: bool
    bytes_read: int


class _UnitWriter:
    """Opens a unit's files when they get their first row."""

    def __init__(self, plan: UnitPlan, verdict: Verdict, folder: Path) -> None:
        self._plan = plan
        self._verdict = verdict.without(plan.keep)
        self._flags = KeptFlags(verdict, plan.keep)
        self._folder = folder
        self._rollouts: ShardWriter | None = None
        self._facts: ShardWriter | None = None
        self._quarantine: QuarantineWriter | None = None
        self._gathering = _gathering(plan, folder, self._write)
        self.published = 0
        self.quarantined = 0

    def path(self, name: str) -> Path:
        """Where a payload is written."""
        return self._folder / f"{name}.parquet"

    def add(self, batch: PartRecords) -> None:
        """Send each record of a batch its way."""
        records, part = batch.records, batch.part
        bad = self._verdict.bad.get(batch.part_index, {})
        if records.rejects:
            self._aside().add_rejects(part, records.rejects)
            self.quarantined += len(records.rejects)
        aside = np.isin(records.rows.to_numpy(), list(bad)) if bad else np.zeros(len(records.rows), dtype=bool)
        if aside.any():
            self._put_aside(batch, aside, bad)
        self._publish(batch, aside)

    def _put_aside(self, batch: PartRecords, aside: Any, bad: dict[int, tuple[str, ...]]) -> None:
        rows = batch.records.rows.to_numpy()[aside].tolist()
        data = batch.records.data.filter(pa.array(aside))
        self._aside().add_rows(batch.part, data, rows, [bad[row] for row in rows])
        self.quarantined += len(rows)

    def _publish(self, batch: PartRecords, aside: Any) -> None:
        rows, data = batch.records.rows, batch.records.data
        if aside.any():
            keep = pa.array(~aside)
            rows, data = rows.filter(keep), data.filter(keep)
        if not len(rows):
            return
        unit, file = self._plan.unit, batch.part.file
        origin = Origin(unit.source, unit.config, unit.split, file.sha256, file.ordinal)
        table = self._plan.layout.normalize(data, rows, origin, self._plan.options)
        table = self._flags.added(table, batch.part_index)
        self.published += len(rows)
        if self._gathering is not None:
            self._gathering.add(table)
        else:
            self._write(table)

    def _write(self, table: pa.Table) -> None:
        if self._rollouts is None or self._facts is None:
            self._rollouts = ShardWriter(self.path(ROLLOUTS), SCHEMA, boundary="rollout_id")
            self._facts = ShardWriter(self.path(FACTS), FACTS_SCHEMA, boundary="rollout_key")
        self._facts.write(facts_of(table))
        self._rollouts.write(table)

    def _aside(self) -> QuarantineWriter:
        if self._quarantine is None:
            self._quarantine = QuarantineWriter(self.path(QUARANTINE), self._plan.schema)
        return self._quarantine

    def close(self) -> tuple[Payload, ...]:
        """Finish the files."""
        if self._gathering is not None:
            self._gathering.close()
        made = (
            self._rollouts and self._rollouts.close(ROLLOUTS),
            self._facts and self._facts.close(FACTS),
            self._quarantine and self._quarantine.close(QUARANTINE),
        )
        return tuple(payload for payload in made if payload)


def _gathering(plan: UnitPlan, folder: Path, emit: Callable[[pa.Table], None]) -> Gathering | None:
    """Give what gathers whole rollouts, for layouts whose rollouts span rows."""
    if plan.order is None:
        return None
    looks = plan.inspections.values()
    size = sum(look.decoded_bytes for look in looks) / max(sum(look.rows for look in looks), 1)
    return Gathering(plan.order, size, folder, emit)


def normalize_unit(plan: UnitPlan, verdict: Verdict, store: FolderStore, digest: DigestOf) -> UnitWork:
    """Normalize one unit, or find it done. Raises FileRefusedError or ConservationError."""
    known = store.get(STAGE, plan.normalize_key)
    if known is not None:
        return UnitWork(known, cached=True, bytes_read=0)
    reader = UnitReader(plan.unit, plan.inspections, digest)
    with store.scratch() as folder:
        writer = _UnitWriter(plan, verdict, folder)
        for batch in reader:
            writer.add(batch)
        payloads = writer.close()
        left = verdict.without(plan.keep)
        _check_conservation(plan, left, writer)
        facts = {
            "rows_in": plan.unit.rows,
            "rows_published": writer.published,
            "rows_quarantined": writer.quarantined,
            "reasons": dict(left.reasons),
            "kept": dict(verdict.reasons - left.reasons),
        }
        manifest = Manifest(STAGE, plan.normalize_key, payloads, (plan.validate_key,), facts)
        stands = store.put(manifest, {p.name: writer.path(p.name) for p in payloads})
    return UnitWork(stands, cached=False, bytes_read=reader.bytes_read)


def _check_conservation(plan: UnitPlan, verdict: Verdict, writer: _UnitWriter) -> None:
    if writer.published + writer.quarantined != plan.unit.rows or writer.quarantined != verdict.count:
        raise ConservationError(
            f"Unit {plan.unit.name}: {plan.unit.rows} records in, but {writer.published} published and "
            f"{writer.quarantined} put aside ({verdict.count} by the verdict). "
            "Nothing is published. Please report this."
        )
