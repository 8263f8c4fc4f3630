"""Ingest as a Prefect task: one run per source."""

from __future__ import annotations

from prefect import task
from prefect.cache_policies import NO_CACHE

from rollmill import ingest as library
from rollmill.config import Source
from rollmill.ingest import IngestWork
from rollmill.plan import Ingested
from rollmill.progress import advance
from rollmill.store import FolderStore
from rollmill.tasks.log import stage_log


@task(name="ingest", task_run_name="ingest {source.slug}", cache_policy=NO_CACHE, persist_result=False)
def ingest(source: Source, store: FolderStore, workers: int) -> tuple[Ingested, IngestWork]:
    """Pin a source's content and know its files."""
    found, work = library.ingest(source, store, workers=workers)
    advance("ingest", 1)
    stage_log().info(
        "%s: %d files at %s, %d read, %d known", source.slug, work.files, found.snapshot.revision[:12],
        work.files - work.cached, work.cached,
    )  # fmt: skip
    return found, work
