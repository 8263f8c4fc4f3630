"""Ingest: know every file of a source: its digest, format, schema and record count."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rollmill import formats
from rollmill.config import Source
from rollmill.detection import detect_layout
from rollmill.errors import FileRefusedError
from rollmill.formats.records import Inspection
from rollmill.keys import INGEST_VERSION, READER_VERSION, digest_of
from rollmill.layouts import Layout, RolloutLayout
from rollmill.plan import Ingested
from rollmill.reading import verify_unchanged
from rollmill.scans import STAGE as SCAN
from rollmill.scans import ScanPlace, load_scan, scan_file, scan_key, scan_place, values_of
from rollmill.snapshot import Snapshot, SourceFile
from rollmill.sources.index import StatIndex
from rollmill.sources.local import Digest, Each, resolve_local
from rollmill.store import FolderStore, Manifest

STAGE = "ingest"


class NotIngestedError(LookupError):
    """A file of the source was not ingested yet: there is work to do."""


@dataclass(frozen=True, slots=True)
class IngestWork:
    """What ingesting a source took. `cached` counts files that needed no reading."""

    files: int
    cached: int
    bytes_read: int


def resolve(source: Source, digest: Digest, each: Each = map) -> Snapshot:
    """List a source and pin its content. Raises SourceMissingError, NothingToReadError or FileRefusedError."""
    return resolve_local(source.uri, source.slug, digest=digest, each=each, config=source.config, splits=source.splits)


def ingest_key(file: SourceFile) -> str:
    """Key of a file's ingest artifact: its bytes, and how they are read (its name's ending has a say in that)."""
    ending = formats.split_ending(file.path)
    return digest_of(
        {
            "stage": STAGE,
            "version": INGEST_VERSION,
            "reader": READER_VERSION,
            "ending": ending.ending if ending else "",
            "sha256": file.sha256,
        }
    )


def ingest_known(source: Source, store: FolderStore) -> Ingested:
    """Ingest from the stat index and the store alone, opening no data file. Raises NotIngestedError."""
    index = StatIndex(store.stat_index)

    def known(path: Path) -> str:
        digest = index.peek(path)
        if digest is None:
            raise NotIngestedError(str(path))
        return digest

    with closing(index):
        snapshot = resolve(source, known)
    inspections = {}
    for file in snapshot.files:
        manifest = store.get(STAGE, ingest_key(file))
        if manifest is None:
            raise NotIngestedError(file.path)
        inspections[file.sha256] = formats.from_json(manifest.facts["inspection"])
    layout = detect_layout(source, snapshot, inspections)
    options = options_in_force(source, snapshot, layout)
    scans: dict[ScanPlace, Manifest] = {}
    if isinstance(layout, RolloutLayout):
        for file in snapshot.files:
            scan = store.get(SCAN, scan_key(snapshot.name, file, layout, options))
            if scan is None:
                raise NotIngestedError(file.path)
            scans[scan_place(file)] = scan
    return _ingested(source, snapshot, inspections, layout, options, scans, store)


def options_in_force(source: Source, snapshot: Snapshot, layout: Layout) -> dict[str, str]:
    """Give the layout's options: those given, else what the card's facts stand for."""
    of_card = layout.card_options(snapshot.facts) if isinstance(layout, RolloutLayout) else {}
    return {**of_card, **source.options}


def ingest(source: Source, store: FolderStore, *, workers: int) -> tuple[Ingested, IngestWork]:
    """Ingest a source, reading what is new. Raises FileRefusedError naming every bad file seen, and AccessError."""
    store.prepare()
    with closing(StatIndex(store.stat_index)) as index, ThreadPoolExecutor(workers) as pool:
        snapshot = resolve(source, index.digest, pool.map)
        looks = _all_looks([pool.submit(_look, file, store, index) for file in snapshot.files])
        inspections = {file.sha256: look for file, (look, _) in zip(snapshot.files, looks, strict=True)}
        layout = detect_layout(source, snapshot, inspections)
        options = options_in_force(source, snapshot, layout)
        scans: dict[ScanPlace, Manifest] = {}
        read = sum(size for _, size in looks)
        if isinstance(layout, RolloutLayout):
            scan = partial(_scan, snapshot.name, layout, options, inspections, store, index)
            for file, (manifest, size) in zip(snapshot.files, pool.map(scan, snapshot.files), strict=True):
                scans[scan_place(file)] = manifest
                read += size
    cached = sum(size == 0 for _, size in looks)
    work = IngestWork(len(looks), cached, index.bytes_hashed + read)
    return _ingested(source, snapshot, inspections, layout, options, scans, store), work


def _ingested(
    source: Source,
    snapshot: Snapshot,
    inspections: Mapping[str, Inspection],
    layout: Layout,
    options: Mapping[str, str],
    scans: Mapping[ScanPlace, Manifest],
    store: FolderStore,
) -> Ingested:
    loaded = {at: load_scan(store, manifest) for at, manifest in scans.items()}
    return Ingested(source, snapshot, inspections, layout, options, loaded, values_of(list(scans.values())))


def _scan(
    name: str,
    layout: RolloutLayout,
    options: Mapping[str, str],
    looks: Mapping[str, Inspection],
    store: FolderStore,
    index: StatIndex,
    file: SourceFile,
) -> tuple[Manifest, int]:
    return scan_file(name, file, layout, options, looks[file.sha256], store, index.digest)


def _all_looks(futures: list[Future[tuple[Inspection, int]]]) -> list[tuple[Inspection, int]]:
    """Wait for all. Raises the first refusal, naming the files of the others too."""
    refused = [error for future in futures if isinstance(error := future.exception(), FileRefusedError)]
    if len(refused) > 1:
        first = refused[0]
        others = ", ".join(str(error.file) for error in refused[1:])
        raise FileRefusedError(
            f"{first.message} Also refused: {others}.", file=first.file, row=first.row, column=first.column
        )
    return [future.result() for future in futures]


def _look(file: SourceFile, store: FolderStore, index: StatIndex) -> tuple[Inspection, int]:
    """Give a file's inspection, and the bytes read for it (0 if it was known)."""
    key = ingest_key(file)
    known = store.get(STAGE, key)
    if known is not None:
        return formats.from_json(known.facts["inspection"]), 0
    look = formats.inspect(file.local, file.path)
    verify_unchanged(file, index.digest)
    facts = {"inspection": formats.to_json(look)}
    store.put(Manifest(STAGE, key, facts=facts), {})
    return look, look.bytes_read
