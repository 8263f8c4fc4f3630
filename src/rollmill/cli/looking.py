"""The commands that show what is there: inspect, status and diff."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rollmill.cli.options import NOWHERE, Dest, Store, is_file, pipeline_of, write_json

if TYPE_CHECKING:
    from rollmill.aside import Aside


def inspect(
    what: Annotated[list[str], typer.Argument(help="A published dataset, a pipeline file (.yaml), or sources.")],
    quarantine: Annotated[bool, typer.Option("--quarantine", help="Show the records that were put aside.")] = False,
    row: Annotated[
        str | None, typer.Option("--row", help="Show the row with this row_id, and where it is from.")
    ] = None,
    artifact: Annotated[
        str | None, typer.Option("--artifact", help="Of a store: show the artifact whose key begins like this.")
    ] = None,
    source: Annotated[str | None, typer.Option("--source", help="Of this source only.")] = None,
    config: Annotated[str | None, typer.Option("--config", help="Of this config only.")] = None,
    split: Annotated[str | None, typer.Option("--split", help="Of this split only.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="With this reason code only.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=0, help="How many records to show.")] = 10,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write counts and records to this file (- for stdout).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write all of the records whole, to this .parquet or .jsonl file.")
    ] = None,
    store: Store = None,
) -> None:
    """Look at a source, a published dataset or a row of it, an artifact, or the records that were put aside."""
    if quarantine:
        _inspect_quarantine(what, (source, config, split, reason), limit, json_file, out, store)
    elif len(what) > 1 or is_file(what):
        raise _what_to_show()
    else:
        _inspect_one(what[0], row, artifact)


def _inspect_one(what: str, row: str | None, artifact: str | None) -> None:
    from rollmill.cli.screens import show_artifact, show_description, show_row, show_version
    from rollmill.describe import describe
    from rollmill.lookup import find_row
    from rollmill.publish import FolderDestination
    from rollmill.sources.local import local_path
    from rollmill.store import FolderStore

    destination = FolderDestination(local_path(what).absolute())
    if artifact is not None:
        show_artifact(FolderStore(destination.path).find(artifact))
    elif row is not None:
        show_row(find_row(destination, row))
    elif FolderDestination.is_published(destination.path):
        show_version(destination.read_manifest())
    else:
        show_description(describe(what), what)


def _what_to_show() -> Exception:
    from rollmill.errors import ConfigError

    return ConfigError("Give one source or published dataset, or say --quarantine.")


def _inspect_quarantine(
    what: list[str],
    of: tuple[str | None, str | None, str | None, str | None],
    limit: int,
    json_file: Path | None,
    out: Path | None,
    store: str | None,
) -> None:
    from rollmill.aside import Selection, export
    from rollmill.console_aside import aside_json, show_aside

    aside = _aside(what, store)
    chosen = Selection(*of).of(aside.index)
    if out is not None:
        written = export(aside, chosen, out)
        typer.echo(f"{written} records written to {out}", err=str(json_file) == "-")
    if json_file is not None:
        write_json(aside_json(aside, chosen, limit), json_file)
    if out is None and json_file is None:
        show_aside(aside, chosen, limit)


def _aside(what: list[str], store: str | None) -> Aside:
    """Open the records put aside of a published dataset, or those a run of sources or a pipeline file would."""
    from rollmill.aside import JudgedAside, PublishedAside
    from rollmill.config import default_store
    from rollmill.flows.survey import planned
    from rollmill.publish import FolderDestination
    from rollmill.sources.index import StatIndex
    from rollmill.sources.local import local_path
    from rollmill.store import FolderStore

    if len(what) == 1 and not is_file(what) and FolderDestination.is_published(local_path(what[0])):
        held = FolderStore(local_path(store) if store else default_store())
        return PublishedAside(FolderDestination(local_path(what[0]).absolute()).read_manifest(), held)
    to = None if is_file(what) else NOWHERE
    pipeline = pipeline_of(what, to, store, "auto", None, None, None, None)
    held = FolderStore(pipeline.store_path)
    found = JudgedAside(planned(pipeline), held, StatIndex(held.stat_index).digest)
    if found.unjudged:
        typer.echo(f"note: {found.unjudged} units were not validated yet; a run does that", err=True)
    return found


def status(what: Annotated[Path, typer.Argument(help="A pipeline file, or a published dataset.")]) -> None:
    """Show the versions that are published; of a pipeline, which splits a run would make anew, and why."""
    from rollmill.cli.screens import show_splits, show_versions
    from rollmill.config import load_pipeline
    from rollmill.flows.status import status as compare
    from rollmill.flows.status import versions
    from rollmill.publish import FolderDestination

    pipeline = load_pipeline(what) if what.suffix in {".yaml", ".yml"} else None
    splits = compare(pipeline) if pipeline else []
    destination = FolderDestination(pipeline.destination_path if pipeline else what.absolute())
    if pipeline is None or destination.current() is not None:
        show_versions(versions(destination), str(destination.path))
    show_splits(splits)


def diff(
    dest: Dest,
    before: Annotated[int, typer.Argument(help="Number of a version.")],
    after: Annotated[int, typer.Argument(help="Number of another version.")],
) -> None:
    """Show which rows two versions do not share, per source and split. No text is read."""
    from rollmill.cli.screens import show_differences
    from rollmill.differences import differences
    from rollmill.publish import FolderDestination

    show_differences(differences(FolderDestination(dest.absolute()), before, after))
