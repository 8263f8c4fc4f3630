"""What the files of a source hold, as far as manifests tell: what declared values are compared with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from rollmill.detection import Place, files_by_split
from rollmill.formats.records import Inspection
from rollmill.plan import Ingested, SourcePlan, UnitPlan
from rollmill.snapshot import Snapshot, SourceFile
from rollmill.sources.splits import DEFAULT_CONFIG
from rollmill.store import Manifest

Sizes = Mapping[str, Mapping[Place, int]]
"""Bytes that the records of each source and split take as Arrow, of splits where that is known."""

PARQUET = "parquet"


@dataclass(frozen=True)
class Held:
    """A source's files. `arrow_bytes` is known of splits that were validated, and are Parquet throughout."""

    plan: SourcePlan
    arrow_bytes: Mapping[Place, int]

    @property
    def ingested(self) -> Ingested:
        """The source after ingest."""
        return self.plan.ingested

    @property
    def snapshot(self) -> Snapshot:
        """The source's files and card."""
        return self.plan.ingested.snapshot

    @cached_property
    def files(self) -> Mapping[Place, list[SourceFile]]:
        """Files by config and split."""
        return files_by_split(self.snapshot)

    @cached_property
    def rows(self) -> Mapping[Place, int]:
        """Records by config and split."""
        return {place: sum(self.look(file).rows for file in files) for place, files in self.files.items()}

    def look(self, file: SourceFile) -> Inspection:
        """Give what is known of a file."""
        return self.ingested.inspection(file)

    def reads(self, config: str, split: str | None = None) -> bool:
        """Whether the run reads a config, and a split of it, if it is there."""
        source = self.ingested.source
        wanted = not source.splits or split is None or split in source.splits
        return source.config in (None, config) and wanted

    @property
    def reads_all_splits(self) -> bool:
        """Whether no split is left out."""
        return not self.ingested.source.splits

    @property
    def reads_all(self) -> bool:
        """Whether neither a config nor a split is left out."""
        return self.reads_all_splits and self.ingested.source.config is None

    def is_parquet(self, place: Place) -> bool:
        """Whether a split's files are all Parquet, and so have the types their writer gave them."""
        return all(self.look(file).format == PARQUET for file in self.files[place])


def prefix(config: str) -> str:
    """Give what stands before a field of a config: nothing for the default one."""
    return "" if config == DEFAULT_CONFIG else f"{config}."


def arrow_sizes(judged: Iterable[tuple[UnitPlan, Manifest]]) -> Sizes:
    """Add up what validation saw of each source and split."""
    sizes: dict[str, dict[Place, int]] = defaultdict(lambda: defaultdict(int))
    for plan, verdict in judged:
        unit = plan.unit
        sizes[unit.source][unit.config, unit.split] += verdict.facts["arrow_bytes"]
    return sizes
