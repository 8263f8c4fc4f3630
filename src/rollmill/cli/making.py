"""The commands that make a dataset: run, plan and demo."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rollmill.cli.options import (
    NOWHERE,
    AllowShrink,
    JsonFile,
    Keep,
    LayoutName,
    MaxQuarantine,
    Name,
    Sources,
    Store,
    StrictCard,
    To,
    Workers,
    is_file,
    pipeline_of,
    write_json,
)

if TYPE_CHECKING:
    from rollmill.config import Pipeline
    from rollmill.errors import RollmillError
    from rollmill.report import Report


def run(
    sources: Sources,
    to: To = None,
    store: Store = None,
    layout: LayoutName = "auto",
    name: Name = None,
    max_quarantine: MaxQuarantine = None,
    keep: Keep = None,
    strict_card: StrictCard = False,
    workers: Workers = None,
    allow_shrink: AllowShrink = False,
    json_file: JsonFile = None,
) -> None:
    """Read sources, validate and normalize them, and publish one dataset."""
    from rollmill.errors import RollmillError

    try:
        given = (sources, to, store, layout, name, max_quarantine, keep, workers)
        pipeline = pipeline_of(*given, strict_card=strict_card, allow_shrink=allow_shrink)
        report = _launch(pipeline)
    except RollmillError as error:
        if json_file:
            write_json(_refused(error).as_json(), json_file)
        raise
    if json_file:
        write_json(report.as_json(), json_file)
    if str(json_file) != "-":
        from rollmill.console import show_report

        show_report(report)


def plan(
    sources: Sources,
    store: Store = None,
    layout: LayoutName = "auto",
    max_quarantine: MaxQuarantine = None,
    keep: Keep = None,
    strict_card: StrictCard = False,
    workers: Workers = None,
) -> None:
    """Show what a run would do. New files are looked at; nothing is published."""
    from rollmill.console import show_plan
    from rollmill.flows.survey import survey

    to = None if is_file(sources) else NOWHERE
    given = (sources, to, store, layout, None, max_quarantine, keep, workers)
    show_plan(survey(pipeline_of(*given, strict_card=strict_card)))


def demo(
    folder: Annotated[Path, typer.Argument(help="Where to write the demo.")] = Path("rollmill-demo"),
    scale: Annotated[
        str | None,
        typer.Option(help="Share of the real sizes: 0.1, or act_prm=1,ppo_critic=0.05. Small if not given."),
    ] = None,
    faults: Annotated[bool, typer.Option("--faults", help="Mix in bad records, to see them put aside.")] = False,
) -> None:
    """Write small sources of three real datasets' shapes, merge them into one dataset, and show the result."""
    from rollmill.console import out, show_report
    from rollmill.demo import parse_scales, write_demo

    path = write_demo(folder, parse_scales(scale) if scale else {}, faults=faults)
    program = sys.argv[0] if sys.argv[0].endswith("rollmill") else "rollmill"
    again = f"{program} run {path}"
    out.print(f"Invented rollouts in three shapes, with a pipeline file: {path}\n$ {again}", highlight=False)
    show_report(_launch(pipeline_of([str(path)], None, None, "auto", None, None, None, None)))
    dataset = folder / "dataset"
    out.print("\nNext:", highlight=False)
    out.print(f"  load it         datasets.load_dataset({str(dataset)!r})", highlight=False)
    out.print(f"  run it again    {again}", highlight=False)
    if faults:
        aside = f"{program} inspect {dataset} --quarantine --store {folder / 'store'}"
        out.print(f"  see the faults  {aside}", highlight=False)
    out.print(f"  get it back     {program} restore {dataset} --source steps --out steps.parquet", highlight=False)


def _launch(pipeline: Pipeline) -> Report:
    from rollmill.console import progress_shown
    from rollmill.flows.launch import launch

    with progress_shown():
        return launch(pipeline)


def _refused(error: RollmillError) -> Report:
    from rollmill.report import Report, refuse

    report = getattr(error, "report", None)
    return report if isinstance(report, Report) else refuse(Report("refused"), error)
