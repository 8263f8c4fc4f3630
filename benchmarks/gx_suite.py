"""A suite of 18 expectations over ppo_critic rollouts: this engine, GX's pandas engine, and a bare Polars scan.

Each run is a process of its own, the three in turn, so that a machine that slows down slows all of them. `bare` is one
Polars query with the same aggregates, and no more: what any engine on Polars has to pay. Times start when everything is
imported and end when the result is there; reading the file is part of them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

ENGINES = ("bare", "polars", "pandas")
RATIOS = (("pandas", "polars"), ("polars", "bare"))
THREADS = "2"
BLANK, END = r"^\s*$", r"<\|endoftext\|>"
QUANTILES = [0.05, 0.5, 0.95]


def suite() -> Any:
    """Give the 18 expectations."""
    import great_expectations as gx
    import great_expectations.expectations as gxe

    import rollmill.expectations.engine  # noqa: F401  imports Great Expectations, quietly

    wide = {"quantiles": QUANTILES, "value_ranges": [[-20, 20]] * len(QUANTILES)}
    return gx.ExpectationSuite(
        "ppo_critic",
        expectations=[
            gxe.ExpectTableRowCountToBeBetween(min_value=1),
            gxe.ExpectTableColumnsToMatchSet(column_set=["prompt", "response", "pred", "target", "score"]),
            gxe.ExpectColumnValuesToNotBeNull(column="prompt"),
            gxe.ExpectColumnValuesToNotBeNull(column="response"),
            gxe.ExpectColumnValuesToNotBeNull(column="score"),
            gxe.ExpectCompoundColumnsToBeUnique(column_list=["prompt", "response"]),
            gxe.ExpectColumnValuesToBeUnique(column="prompt"),
            gxe.ExpectColumnUniqueValueCountToBeBetween(column="response", min_value=1),
            gxe.ExpectColumnValueLengthsToBeBetween(column="response", min_value=1, max_value=100_000),
            gxe.ExpectColumnValuesToNotMatchRegex(column="response", regex=BLANK),
            gxe.ExpectColumnValuesToNotMatchRegex(column="response", regex=END),
            gxe.ExpectColumnValuesToNotBeInSet(column="response", value_set=["", "N/A"]),
            gxe.ExpectColumnValuesToBeBetween(column="pred", min_value=-20, max_value=20),
            gxe.ExpectColumnValuesToBeBetween(column="score", min_value=-1, max_value=1),
            gxe.ExpectColumnMeanToBeBetween(column="score", min_value=-1, max_value=1),
            gxe.ExpectColumnStdevToBeBetween(column="pred", min_value=0, max_value=20),
            gxe.ExpectColumnQuantileValuesToBeBetween(column="score", quantile_ranges=wide),
            gxe.ExpectColumnMaxToBeBetween(column="target", min_value=-20, max_value=20),
        ],
    )


def by_polars(file: Path) -> Callable[[], Any]:
    """Make ready a run by this engine."""
    judged, context = suite(), quiet_context()
    asset = context.data_sources.add_polars("polars").add_parquet_asset("critic", paths=file)
    definition = asset.add_batch_definition_whole("all")
    return lambda: counts(definition.get_batch().validate(judged, result_format="SUMMARY"))


def by_pandas(file: Path) -> Callable[[], Any]:
    """Make ready a run by the engine that Great Expectations has."""
    judged, context = suite(), quiet_context()
    asset = context.data_sources.add_pandas("pandas").add_parquet_asset("critic", path=str(file))
    definition = asset.add_batch_definition("all")
    return lambda: counts(definition.get_batch().validate(judged, result_format="SUMMARY"))


def quiet_context() -> Any:
    """Give a context without progress bars."""
    import great_expectations as gx

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    return context


def counts(found: Any) -> list[Any]:
    """Give what both engines must agree on: success and failing records by expectation."""
    told = [
        (one.expectation_config.type, str(one.expectation_config.kwargs.get("column")), one) for one in found.results
    ]
    return [[*key, bool(one.success), one.result.get("unexpected_count")] for *key, one in sorted(told, key=str)]


def by_bare_scan(file: Path) -> Callable[[], Any]:
    """Make ready the query."""
    import polars as pl

    c = pl.col
    response = c("response")
    looks = [
        pl.len().alias("rows"),
        *(c(name).is_null().sum().alias(f"{name}_null") for name in ("prompt", "response", "score")),
        pl.struct(c("prompt").hash(), response.hash()).n_unique().alias("pairs"),
        c("prompt").hash().n_unique().alias("prompts"),
        response.hash().n_unique().alias("responses"),
        (~response.str.len_chars().is_between(1, 100_000)).sum().alias("lengths"),
        response.str.contains(BLANK).sum().alias("blank"),
        response.str.contains(END).sum().alias("ends"),
        ((response == "") | (response == "N/A")).sum().alias("banned"),
        (~c("pred").is_between(-20, 20)).sum().alias("preds"),
        (~c("score").is_between(-1, 1)).sum().alias("scores"),
        c("score").mean().alias("mean"),
        c("pred").std().alias("std"),
        *(c("score").quantile(share).alias(f"quantile_{share}") for share in QUANTILES),
        c("target").max().alias("most"),
    ]
    return lambda: pl.scan_parquet(file).select(looks).collect(engine="streaming").height


READY: dict[str, Callable[[Path], Callable[[], Any]]] = {
    "bare": by_bare_scan,
    "polars": by_polars,
    "pandas": by_pandas,
}


def measure(engine: str, file: Path) -> dict[str, Any]:
    """Run one engine in this process: seconds, CPU seconds, peak memory in MB, what it found."""
    run = READY[engine](file)
    wall, cpu = time.perf_counter(), time.process_time()
    found = run()
    spent = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    return {**spent, "peak": peak, "found": found}


def in_child(engine: str, file: Path) -> dict[str, Any]:
    """Run one engine in a process of its own."""
    command = [sys.executable, __file__, "--engine", engine, "--file", str(file)]
    done = subprocess.run(
        command, env=os.environ | {"POLARS_MAX_THREADS": THREADS}, stdout=subprocess.PIPE, text=True, check=True
    )
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def write_data(folder: Path, megabytes: int) -> Path:
    """Write one split of about so much text, with faults."""
    from rollmill.generator import plan_ppo_critic, write_ppo_critic

    scale = megabytes * 1e6 / plan_ppo_critic(splits=1).num_bytes
    faults = dict.fromkeys(("empty_response", "reward_not_finite", "reward_missing"), 10)
    write_ppo_critic(folder, scale=scale, splits=1, faults=faults)
    (file,) = (folder / "data").glob("*.parquet")
    return file


def spread(values: list[float]) -> str:
    """Show the least, the median and the most."""
    return " - ".join(f"{value:.2f}" for value in (min(values), statistics.median(values), max(values)))


def report(rounds: list[dict[str, dict[str, Any]]], file: Path, megabytes: int) -> str:
    """Put the table together."""
    agree = all(each["polars"]["found"] == each["pandas"]["found"] for each in rounds)
    packages = " ".join(f"{name} {version(name)}" for name in ("great_expectations", "polars", "pandas", "pyarrow"))
    lines = [
        f"polars and pandas find {'the same' if agree else 'DIFFERENT things'}",
        f"{megabytes} MB of text in {file.stat().st_size / 1e6:.0f} MB of parquet, {len(rounds)} rounds, "
        f"{THREADS} Polars threads",
        f"{platform.machine()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, Python "
        f"{platform.python_version()}, {packages}",
        "",
        "| engine | wall s | CPU s | peak MB |",
        "| --- | --- | --- | --- |",
    ]
    for engine in ENGINES:
        cells = [spread([each[engine][figure] for each in rounds]) for figure in ("wall", "cpu", "peak")]
        lines.append(f"| {engine} | {' | '.join(cells)} |")
    lines += ["", "| ratio, round by round | wall | CPU |", "| --- | --- | --- |"]
    for slow, fast in RATIOS:
        both = [spread([each[slow][figure] / each[fast][figure] for each in rounds]) for figure in ("wall", "cpu")]
        lines.append(f"| {slow} / {fast} | {' | '.join(both)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, or be the process that is measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mb", type=int, default=1000, help="megabytes of text (1000)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each engine runs (3)")
    parser.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.engine:
        sys.stdout.write(json.dumps(measure(asked.engine, asked.file)) + "\n")
        return
    with tempfile.TemporaryDirectory() as folder:
        file = write_data(Path(folder), asked.mb)
        rounds = [{engine: in_child(engine, file) for engine in ENGINES} for _ in range(asked.rounds)]
        sys.stdout.write(report(rounds, file, asked.mb) + "\n")


if __name__ == "__main__":
    main()
