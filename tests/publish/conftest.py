"""Small published datasets: parquet files in the unified schema, a store folder, and manifests over them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollmill.publish import Counts, DataFile, FolderDestination, Outcome, SourceEntry, VersionManifest
from rollmill.schema import COLUMNS, SCHEMA, SCHEMA_VERSION

PIPELINE = "mill"


@dataclass
class Mill:
    """A store folder, and the files and counts of the version being made."""

    store: Path
    files: list[DataFile] = field(default_factory=list)
    counts: dict[str, dict[str, dict[str, Counts]]] = field(default_factory=dict)
    license: dict[str, str | None] = field(default_factory=dict)
    reasons: dict[str, dict[str, int]] = field(default_factory=dict)
    kept: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, source: str, split: str, rows: int, *, config: str = "default", start: int = 0) -> DataFile | None:
        """Add a file of rows numbered from `start`; an empty split for 0 rows."""
        splits = self.counts.setdefault(source, {}).setdefault(config, {})
        counts = Counts(rows + 1, rows, 1, 0, rows)
        splits[split] = splits.get(split, Counts()) + counts
        if not rows:
            return None
        data = parquet_bytes(source, split, start, rows)
        digest = hashlib.sha256(data).hexdigest()
        (self.store / digest).write_bytes(data)
        key = hashlib.sha256(f"{source}/{config}/{split}/{start}".encode("utf-8", "surrogatepass")).hexdigest()
        file = DataFile.of(source, config, split, sha256=digest, size=len(data), rows=rows, key=key)
        self.files.append(file)
        return file

    def only(self, kept: int) -> None:
        """Leave nothing but the first `kept` files, whole."""
        self.files = self.files[:kept]
        self.counts = {}
        for file in self.files:
            splits = self.counts.setdefault(file.source, {}).setdefault(file.config, {})
            splits[file.split] = splits.get(file.split, Counts()) + Counts(file.rows, file.rows, 0, 0, file.rows)

    def manifest(self, pipeline: str = PIPELINE) -> VersionManifest:
        """Plan the version of all files added."""
        sources = [
            SourceEntry(
                name,
                f"/somewhere/{name}",
                "0" * 64,
                "prompt_response@1",
                splits,
                reasons=self.reasons.get(name, {"empty_prompt": 1}),
                kept=self.kept.get(name, {}),
                license=self.license.get(name, "mit"),
                files={"ab" * 32: [{"path": "a.parquet", "rows": 2}]},
            )
            for name, splits in self.counts.items()
        ]
        return VersionManifest.plan(
            pipeline, schema_version=SCHEMA_VERSION, writer="zstd3@1", sources=sources, files=self.files
        )

    def publish(self, destination: FolderDestination, **options: Any) -> Outcome:
        """Publish the version against what is current."""
        current = destination.current()
        options.setdefault("expected_parent", current.digest if current else None)
        return destination.publish(self.manifest(), lambda number: {"number": number}, self.store.joinpath, **options)


def parquet_bytes(source: str, split: str, start: int, rows: int) -> bytes:
    """Write rows of the unified schema; `step_idx` counts from `start`."""
    defaults = {pa.string(): "x", pa.int32(): 0, pa.int64(): 0, pa.bool_(): True}
    columns = {}
    for column in COLUMNS:
        value = None if column.nullable else defaults.get(column.type, [])
        columns[column.name] = [value] * rows
    columns["step_idx"] = list(range(start, start + rows))
    columns["source_split"] = [split.encode("ascii", "replace").decode()] * rows
    columns["data_source"] = [source.encode("ascii", "replace").decode()] * rows
    out = pa.BufferOutputStream()
    pq.write_table(pa.table(columns, schema=SCHEMA), out)
    return bytes(out.getvalue().to_pybytes())


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    """An empty store."""
    store = tmp_path / "store"
    store.mkdir()
    return Mill(store)


@pytest.fixture
def filled(mill: Mill) -> Mill:
    """Two sources, three splits with rows, one without."""
    mill.add("alpha", "train_1", 3)
    mill.add("alpha", "train_1", 2, start=3)
    mill.add("alpha", "train_2", 2)
    mill.add("alpha", "empty", 0)
    mill.add("owner/Beta", "test", 4)
    return mill


@pytest.fixture
def destination(tmp_path: Path) -> FolderDestination:
    """A destination that does not exist yet."""
    return FolderDestination(tmp_path / "dest", lock_timeout=0.2)


Tree = Callable[[Path], dict[str, bytes]]


@pytest.fixture
def tree() -> Tree:
    """Read all files below a folder, but the lock."""
    return _tree


def _tree(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != ".rollmill.lock"
    }
