"""The commands that look after what is published and stored: restore, rollback, verify and prune."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rollmill.cli.options import Dest, Store

_DAMAGED = 3


def restore(
    dest: Dest,
    source: Annotated[str, typer.Option("--source", help="Name of the source.")],
    out: Annotated[Path, typer.Option("--out", help="Parquet file to write.")],
    split: Annotated[str | None, typer.Option("--split", help="This split only.")] = None,
    config: Annotated[str | None, typer.Option("--config", help="This config only.")] = None,
    with_quarantine: Annotated[
        bool, typer.Option("--with-quarantine", help="Bring back rows that were put aside, from the store.")
    ] = False,
    store: Store = None,
) -> None:
    """Give the source rows back: same columns, types, values and order."""
    from rollmill.config import default_store
    from rollmill.console import show_restored
    from rollmill.publish import FolderDestination
    from rollmill.restore import restore as restore_rows
    from rollmill.sources.local import local_path
    from rollmill.store import FolderStore

    held = FolderStore(local_path(store) if store else default_store()) if with_quarantine else None
    restored = restore_rows(
        FolderDestination(dest.absolute()), out, source=source, config=config, split=split, store=held
    )
    show_restored(restored, str(out))


def rollback(
    dest: Dest, number: Annotated[int | None, typer.Argument(help="Version to go back to; the one before.")] = None
) -> None:
    """Make an earlier version current again. Later ones are kept, and a number is never given twice."""
    from rollmill.console import out
    from rollmill.errors import AccessError
    from rollmill.publish import FolderDestination

    destination = FolderDestination(dest.absolute())
    current = destination.current()
    earlier = [known for known in destination.numbers() if current is None or known < current.number]
    if current is None or (number is None and not earlier):
        raise AccessError(f"{dest} has no version before the current one.")
    outcome = destination.rollback(current.pipeline, earlier[-1] if number is None else number)
    out.print(f"version {outcome.number} ({outcome.digest[:12]}) is current at {dest}", markup=False, highlight=False)


def verify(path: Annotated[Path, typer.Argument(help="A published dataset, or a store.")]) -> int:
    """Read every file again and check its digest. What is damaged is made or copied again by the next run."""
    from rollmill.cli.screens import show_verified
    from rollmill.verify import verify as check

    found = check(path.absolute())
    show_verified(found, str(path))
    return _DAMAGED if found.damaged else 0


def prune(
    store: Store = None,
    keep: Annotated[int | None, typer.Option("--keep", min=1, help="Versions to keep per destination; all.")] = None,
    grace: Annotated[float, typer.Option("--grace", min=0, help="Hours for which what is unused stays.")] = 24.0,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be deleted.")] = False,
) -> None:
    """Delete from a store what no published version and no run at work needs."""
    from rollmill.cli.screens import show_pruning
    from rollmill.config import default_store
    from rollmill.pruning import prune as delete
    from rollmill.sources.local import local_path
    from rollmill.store import FolderStore

    folder = FolderStore(local_path(store) if store else default_store())
    show_pruning(delete(folder, keep=keep, grace=grace * 3600, dry_run=dry_run))
