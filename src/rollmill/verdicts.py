"""Verdicts: which records of a unit are put aside, and why. The validate stage's artifact."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rollmill.shards import ShardWriter
from rollmill.store import FolderStore, Manifest, Payload

STAGE = "validate"
BAD_ROWS = "bad_rows"
_SCHEMA = pa.schema(
    [
        pa.field("part", pa.int32(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
        pa.field("reasons", pa.list_(pa.string()), nullable=False),
    ]
)


@dataclass
class Verdict:
    """The records of a unit that are put aside: `bad[part][row]` lists the reasons, the first counts.

    `read` counts the records read per part; `findings` are the suite's results, values aside.
    """

    bad: dict[int, dict[int, tuple[str, ...]]] = field(default_factory=dict)
    read: dict[int, int] = field(default_factory=dict)
    findings: list[dict[str, Any]] = field(default_factory=list)
    result: dict[str, Any] = field(default_factory=dict)

    @property
    def reasons(self) -> Counter[str]:
        """Records per first reason."""
        return Counter(reasons[0] for rows in self.bad.values() for reasons in rows.values())

    @property
    def count(self) -> int:
        """Records put aside."""
        return sum(len(rows) for rows in self.bad.values())

    def part_reasons(self, part: int) -> Counter[str]:
        """Records per first reason in one part."""
        return Counter(reasons[0] for reasons in self.bad.get(part, {}).values())

    def first_rows(self, part: int) -> dict[str, int]:
        """Give the first record of one part for each first reason."""
        rows = sorted(self.bad.get(part, {}).items(), reverse=True)
        return {reasons[0]: row for row, reasons in rows}

    def facts(self) -> dict[str, Any]:
        """Give what the manifest keeps."""
        parts = {
            str(i): {"read": n, "reasons": dict(self.part_reasons(i)), "first": self.first_rows(i)}
            for i, n in sorted(self.read.items())
        }
        return {"parts": parts, "findings": self.findings, "result": self.result}

    def write(self, path: Path) -> Payload | None:
        """Write the rows put aside; None if there are none."""
        places = [(part, row, list(rs)) for part, rows in sorted(self.bad.items()) for row, rs in sorted(rows.items())]
        if not places:
            return None
        writer = ShardWriter(path, _SCHEMA)
        columns = [pa.array(values, f.type) for values, f in zip(zip(*places, strict=True), _SCHEMA, strict=True)]
        writer.write(pa.Table.from_arrays(columns, schema=_SCHEMA))
        return writer.close(BAD_ROWS)


def columns_judged(manifest: Manifest) -> dict[str, str]:
    """Give the column that each reason code is about, as far as a check of the suite gives it."""
    findings = manifest.facts["findings"]
    return {f["reason"]: f["column"] for f in findings if f["reason"] and f["column"]}


def load_verdict(store: FolderStore, manifest: Manifest) -> Verdict:
    """Read a verdict back from the store."""
    verdict = Verdict(read={int(i): part["read"] for i, part in manifest.facts["parts"].items()})
    payload = manifest.payload(BAD_ROWS)
    if payload is not None:
        table = pq.read_table(store.object_path(payload.sha256))
        for part, row, reasons in zip(*(table.column(name).to_pylist() for name in _SCHEMA.names), strict=True):
            verdict.bad.setdefault(part, {})[row] = tuple(reasons)
    return verdict
