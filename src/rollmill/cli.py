"""The `rollmill` command. Light to import: what a command needs is imported when it runs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.exceptions import TyperException

if TYPE_CHECKING:
    from rollmill.config import Pipeline
    from rollmill.errors import RollmillError
    from rollmill.report import Report

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Turn RL rollout datasets, each in its own shape, into one verified, versioned, unified dataset.",
)
_INTERRUPTED = 130
_NOWHERE = "not-published"
_INTERNAL = 1

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
AllowShrink = Annotated[bool, typer.Option("--allow-shrink", help="Let a version lose rows or splits.")]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the report to this file (- for stdout).")]


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"rollmill {version('rollmill')}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    if debug:
        os.environ["ROLLMILL_DEBUG"] = "1"


@app.command()
def run(
    sources: Sources,
    to: To = None,
    store: Store = None,
    layout: LayoutName = "auto",
    name: Name = None,
    max_quarantine: MaxQuarantine = None,
    workers: Workers = None,
    allow_shrink: AllowShrink = False,
    json_file: JsonFile = None,
) -> None:
    """Read sources, validate and normalize them, and publish one dataset."""
    from rollmill.errors import RollmillError

    try:
        pipeline = _pipeline(sources, to, store, layout, name, max_quarantine, workers, allow_shrink=allow_shrink)
        report = _launch(pipeline)
    except RollmillError as error:
        if json_file:
            _write_json(_refused(error), json_file)
        raise
    if json_file:
        _write_json(report, json_file)
    if str(json_file) != "-":
        from rollmill.console import show_report

        show_report(report)


@app.command()
def plan(
    sources: Sources,
    store: Store = None,
    layout: LayoutName = "auto",
    max_quarantine: MaxQuarantine = None,
    workers: Workers = None,
) -> None:
    """Show what a run would do. New files are looked at; nothing is published."""
    from rollmill.console import show_plan
    from rollmill.flows.survey import survey

    to = None if _is_file(sources) else _NOWHERE
    show_plan(survey(_pipeline(sources, to, store, layout, None, max_quarantine, workers, allow_shrink=False)))


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="Where to write the demo.")] = Path("rollmill-demo"),
    scale: Annotated[
        str | None,
        typer.Option(help="Share of the real sizes: 0.1, or act_prm=1,ppo_critic=0.05. Small if not given."),
    ] = None,
) -> None:
    """Write small sources of three real datasets' shapes, merge them into one dataset, and show the result."""
    from rollmill.console import out, show_report
    from rollmill.demo import parse_scales, write_demo

    path = write_demo(folder, parse_scales(scale) if scale else {})
    program = sys.argv[0] if sys.argv[0].endswith("rollmill") else "rollmill"
    again = f"{program} run {path}"
    out.print(f"Invented rollouts in three shapes, with a pipeline file: {path}\n$ {again}", highlight=False)
    show_report(_launch(_pipeline([str(path)], None, None, "auto", None, None, None, allow_shrink=False)))
    dataset = folder / "dataset"
    out.print("\nNext:", highlight=False)
    out.print(f"  load it         datasets.load_dataset({str(dataset)!r})", highlight=False)
    out.print(f"  run it again    {again}", highlight=False)
    out.print(f"  get it back     {program} restore {dataset} --source steps --out steps.parquet", highlight=False)


@app.command()
def restore(
    dest: Annotated[Path, typer.Argument(help="The published dataset.")],
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


def _pipeline(
    sources: list[str],
    to: str | None,
    store: str | None,
    layout: str,
    name: str | None,
    max_quarantine: float | None,
    workers: int | None,
    *,
    allow_shrink: bool,
) -> Pipeline:
    """Build the pipeline of a file or of flags; flags given beside a file replace its keys."""
    from rollmill.config import build_pipeline, load_pipeline, slug
    from rollmill.errors import ConfigError
    from rollmill.sources.local import local_path

    flags: dict[str, Any] = {"destination": to, "store": store, "name": name, "workers": workers}
    if max_quarantine is not None:
        flags["validation"] = {"max_quarantine": max_quarantine}
    if allow_shrink:
        flags["allow_shrink"] = True
    given = {key: value for key, value in flags.items() if value is not None}
    if _is_file(sources):
        if layout != "auto":
            raise ConfigError("--layout goes with sources; in a pipeline file, `layout` stands with each source.")
        loaded = load_pipeline(Path(sources[0]))
        return build_pipeline(**(loaded.model_dump() | given)) if given else loaded
    if to is None:
        raise ConfigError("Say where to publish with --to FOLDER (or give a pipeline file).")
    given["sources"] = [{"uri": uri, "layout": layout} for uri in sources]
    given.setdefault("name", slug(local_path(to).name) if "://" not in to else "rollouts")
    pipeline: Pipeline = build_pipeline(**given)
    return pipeline


def _is_file(sources: list[str]) -> bool:
    return len(sources) == 1 and sources[0].endswith((".yaml", ".yml"))


def _launch(pipeline: Pipeline) -> Report:
    from rollmill.console import progress_shown
    from rollmill.flows.launch import launch

    with progress_shown():
        return launch(pipeline)


def _refused(error: RollmillError) -> Report:
    from rollmill.report import Report, refuse

    report = getattr(error, "report", None)
    return report if isinstance(report, Report) else refuse(Report("refused"), error)


def _write_json(report: Report, path: Path) -> None:
    text = json.dumps(report.as_json(), indent=1, ensure_ascii=False) + "\n"
    if str(path) == "-":
        sys.stdout.write(text)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """Run the command: errors are one paragraph, exit codes mean something."""
    sys.exit(_exit_code())


def _exit_code() -> int:
    from rollmill.errors import RollmillError

    try:
        result = app(standalone_mode=False)
    except TyperException as error:
        said = error.format_message()  # empty where the help was shown instead
        return _tell(f"{said.rstrip('.')}. See rollmill --help.", error.exit_code) if said else error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return _tell("interrupted. What is done is kept; the next run goes on from there.", _INTERRUPTED)
    except RollmillError as error:
        return _tell(error.message, error.exit_code)
    except Exception as error:  # noqa: BLE001
        return _tell(
            f"internal error, please report it (--debug shows where): {type(error).__name__}: {error}", _INTERNAL
        )
    return result if isinstance(result, int) else 0


def _tell(message: str, code: int) -> int:
    from rollmill.console import show_error

    if os.environ.get("ROLLMILL_DEBUG"):
        import traceback

        traceback.print_exc()
    show_error(message)
    return code


if __name__ == "__main__":
    main()
