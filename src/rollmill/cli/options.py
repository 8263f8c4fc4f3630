"""What several commands take, and how a pipeline is made of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from rollmill.config import Pipeline

NOWHERE: Final = "not-published"
"""The destination of a pipeline that is only looked at."""

Sources = Annotated[list[str], typer.Argument(help="Folders or files to read, or one pipeline file (.yaml).")]
To = Annotated[str | None, typer.Option("--to", help="Folder to publish to.")]
Store = Annotated[str | None, typer.Option("--store", help="Folder of the artifact store.")]
LayoutName = Annotated[str, typer.Option("--layout", help="Layout of the sources; auto finds it by the columns.")]
Name = Annotated[str | None, typer.Option("--name", help="Name of the dataset; the destination's name if not given.")]
MaxQuarantine = Annotated[
    float | None,
    typer.Option("--max-quarantine", help="Largest share of records put aside, 0 to 1 (0.01 if not given)."),
]
Workers = Annotated[int | None, typer.Option("--workers", help="Units worked on at once.")]
Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", help="Publish records with this reason code all the same, flagged; may be repeated."),
]
StrictCard = Annotated[
    bool,
    typer.Option("--strict-card", help="Refuse sources that are not what their cards, footers and file names declare."),
]
AllowShrink = Annotated[bool, typer.Option("--allow-shrink", help="Let a version lose rows or splits.")]
Dest = Annotated[Path, typer.Argument(help="The published dataset.")]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the report to this file (- for stdout).")]


def pipeline_of(
    sources: list[str],
    to: str | None,
    store: str | None,
    layout: str,
    name: str | None,
    max_quarantine: float | None,
    keep: list[str] | None,
    workers: int | None,
    *,
    strict_card: bool = False,
    allow_shrink: bool = False,
) -> Pipeline:
    """Build the pipeline of a file or of flags; flags given beside a file replace its keys."""
    from rollmill.config import build_pipeline, load_pipeline, slug
    from rollmill.errors import ConfigError
    from rollmill.sources.local import local_path

    flags: dict[str, Any] = {"destination": to, "store": store, "name": name, "workers": workers}
    limits = {"max_quarantine": max_quarantine, "strict_card": strict_card or None}
    validation = {key: value for key, value in limits.items() if value is not None}
    if allow_shrink:
        flags["allow_shrink"] = True
    given = {key: value for key, value in flags.items() if value is not None}
    if is_file(sources):
        if layout != "auto":
            raise ConfigError("--layout goes with sources; in a pipeline file, `layout` stands with each source.")
        if keep:
            raise ConfigError("--keep goes with sources; in a pipeline file, `keep` stands with each source.")
        loaded = load_pipeline(Path(sources[0]))
        if validation:
            given["validation"] = loaded.validation.model_dump() | validation
        return build_pipeline(**(loaded.model_dump() | given)) if given else loaded
    if to is None:
        raise ConfigError("Say where to publish with --to FOLDER (or give a pipeline file).")
    given["validation"] = validation
    given["sources"] = [{"uri": uri, "layout": layout, "keep": keep or ()} for uri in sources]
    given.setdefault("name", slug(local_path(to).name) if "://" not in to else "rollouts")
    pipeline: Pipeline = build_pipeline(**given)
    return pipeline


def is_file(sources: list[str]) -> bool:
    """Tell whether the argument is a pipeline file."""
    return len(sources) == 1 and sources[0].endswith((".yaml", ".yml"))


def write_json(value: dict[str, Any], path: Path) -> None:
    """Write a report to a file, or to standard output for `-`."""
    text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
    if str(path) == "-":
        sys.stdout.write(text)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
