"""Verdicts: which records of a unit are put aside, and why. The validate stage's artifact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from rollmill.reasons import is_kept, joined, parted
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

    `read` counts the records read per part, `arrow_bytes` what all that could be read take as Arrow; `findings` are the
    suite's results, values aside.
    """

    bad: dict[int, dict[int, tuple[str, ...]]] = field(default_factory=dict)
    read: dict[int, int] = field(default_factory=dict)
    arrow_bytes: int = 0
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

    def without(self, keep: Collection[str]) -> Verdict:
        """Give the verdict without the records that are published all the same."""
        if not keep:
            return self
        bad = {
            part: {row: reasons for row, reasons in rows.items() if not is_kept(reasons, keep)}
            for part, rows in self.bad.items()
        }
        return replace(self, bad=bad)

    def part_facts(self, part: int) -> dict[str, Any]:
        """Give of one part the records read, and by combination of reasons (`reasons.joined`) count and first row."""
        found = {row: joined(reasons) for row, reasons in sorted(self.bad.get(part, {}).items())}
        first = {combination: row for row, combination in reversed(found.items())}
        return {"read": self.read[part], "reasons": dict(sorted(Counter(found.values()).items())), "first": first}

    def facts(self) -> dict[str, Any]:
        """Give what the manifest keeps."""
        parts = {str(i): self.part_facts(i) for i in sorted(self.read)}
        return {"parts": parts, "arrow_bytes": self.arrow_bytes, "findings": self.findings, "result": self.result}

    def write(self, path: Path) -> Payload | None:
        """Write the rows put aside; None if there are none."""
        places = [(part, row, list(rs)) for part, rows in sorted(self.bad.items()) for row, rs in sorted(rows.items())]
        if not places:
            return None
        writer = ShardWriter(path, _SCHEMA)
        columns = [pa.array(values, f.type) for values, f in zip(zip(*places, strict=True), _SCHEMA, strict=True)]
        writer.write(pa.Table.from_arrays(columns, schema=_SCHEMA))
        return writer.close(BAD_ROWS)


@dataclass(frozen=True, slots=True)
class Told:
    """Records of one combination of reasons: how many, the first of them, and whether they are kept."""

    reasons: tuple[str, ...]
    count: int
    first: int
    kept: bool

    @property
    def reason(self) -> str:
        """The one that counts."""
        return self.reasons[0]


def told(part_facts: Mapping[str, Any], keep: Collection[str]) -> Iterator[Told]:
    """Read a part's facts: what is put aside, and what is published all the same."""
    for combination, count in part_facts["reasons"].items():
        reasons = parted(combination)
        yield Told(tuple(reasons), count, part_facts["first"][combination], is_kept(reasons, keep))


def columns_judged(manifest: Manifest) -> dict[str, str]:
    """Give the column that each reason code is about, as far as a check of the suite gives it."""
    findings = manifest.facts["findings"]
    return {f["reason"]: f["column"] for f in findings if f["reason"] and f["column"]}


def bad_rows(store: FolderStore, manifest: Manifest) -> pl.DataFrame:
    """Read the records that a verdict puts aside: part, row, reasons (a list)."""
    payload = manifest.payload(BAD_ROWS)
    table = _SCHEMA.empty_table() if payload is None else pq.read_table(store.object_path(payload.sha256))
    return pl.DataFrame(pl.from_arrow(table))


def load_verdict(store: FolderStore, manifest: Manifest) -> Verdict:
    """Read a verdict back from the store."""
    verdict = Verdict(read={int(i): part["read"] for i, part in manifest.facts["parts"].items()})
    for part, row, reasons in bad_rows(store, manifest).iter_rows():
        verdict.bad.setdefault(part, {})[row] = tuple(reasons)
    return verdict
