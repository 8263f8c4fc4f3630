"""What a person sees on a terminal: progress while it runs, a summary at the end. Light to import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from rollmill.flows.survey import Survey
    from rollmill.report import Report
    from rollmill.restore import Restored

out = Console(soft_wrap=True)
err = Console(stderr=True, soft_wrap=True)
_MOST_WARNINGS = 10


class _Bars:
    """A progress bar per stage."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self.progress = Progress(
            TextColumn("{task.description:10}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=err
        )
        self._tasks: dict[str, object] = {}

    def begin(self, stage: str, total: int) -> None:
        self._tasks[stage] = self.progress.add_task(stage, total=total)

    def advance(self, stage: str, done: int) -> None:
        if stage in self._tasks:
            self.progress.advance(self._tasks[stage], done)  # type: ignore[arg-type]


@contextmanager
def progress_shown() -> Iterator[None]:
    """Show progress on a terminal; be quiet elsewhere."""
    if not err.is_terminal:
        yield
        return
    from rollmill.progress import listening

    bars = _Bars()
    with bars.progress, listening(bars):
        yield


def show_report(report: Report) -> None:
    """Print what a run did."""
    version = report.version or {}
    name = f"version {version.get('number')} ({str(version.get('digest'))[:12]})" if version else ""
    out.print(f"[bold]{report.verdict}[/bold] {name} at {escape(report.destination)}", highlight=False)
    out.print(
        f"records: {report.rows_in} in = {report.rows_published} published + {report.rows_quarantined} put aside"
        f" + {report.rows_dropped} dropped",
        highlight=False,
    )
    for code, count in sorted(report.reasons.items()):
        out.print(f"  put aside: {code} {count}", highlight=False)
    for code, count in sorted(report.kept.items()):
        out.print(f"  kept: {code} {count}", highlight=False)
    if report.data_docs:
        out.print(f"data docs: {escape(report.data_docs)}", highlight=False)
    out.print(_stage_table(report))
    _show_notes(report.warnings, "in the report (--json)")


def _show_notes(notes: Sequence[str], rest: str) -> None:
    for line in notes[:_MOST_WARNINGS]:
        err.print(f"[yellow]note[/yellow] {escape(line)}", highlight=False)
    if len(notes) > _MOST_WARNINGS:
        err.print(f"[yellow]note[/yellow] and {len(notes) - _MOST_WARNINGS} more {rest}", highlight=False)


def _stage_table(report: Report) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("stage")
    for name in ("units", "known", "seconds", "MB read"):
        table.add_column(name, justify="right")
    for stage, stats in report.stages.items():
        read = f"{stats.bytes_read / 1e6:.1f}"
        table.add_row(stage, str(stats.units), str(stats.cached), f"{stats.seconds:.1f}", read)
    return table


def show_plan(survey: Survey) -> None:
    """Print what a run would do."""
    table = Table(box=None, pad_edge=False)
    for name, justify in (
        ("source", "left"),
        ("layout", "left"),
        ("config", "left"),
        ("split", "left"),
        ("records", "right"),
    ):
        table.add_column(name, justify="right" if justify == "right" else "left")
    for source in survey.plan.sources:
        rows: dict[tuple[str, str], int] = {}
        for unit in source.units:
            place = (unit.unit.config, unit.unit.split)
            rows[place] = rows.get(place, 0) + unit.unit.rows
        for config, split in source.schemas:
            count = rows.get((config, split), 0)
            table.add_row(escape(source.name), source.layout.tag, escape(config), escape(split), str(count))
    out.print(table)
    for stage, (units, left) in survey.todo.items():
        out.print(f"{stage}: {units} units, {left} to do", highlight=False)
    _show_notes(survey.drift, "differences; a run's report lists all")
    if survey.refusal:
        err.print(f"[yellow]note[/yellow] a run would be refused: {escape(survey.refusal)}", highlight=False)


def show_restored(restored: Restored, path: str) -> None:
    """Print what was restored."""
    out.print(f"{restored.rows} rows restored to {escape(path)}", highlight=False)
    for file, row, reason in restored.unreadable[:_MOST_WARNINGS]:
        err.print(
            f"[yellow]note[/yellow] {escape(file)}, record {row} is no row ({reason}); its bytes are in the store"
        )


def show_error(message: str) -> None:
    """Print an error."""
    err.print(f"[bold red]error[/bold red] {escape(message)}", highlight=False)
