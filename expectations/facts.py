"""The facts of all units as what suites judge: a stream for the unified suite, a lazy frame for measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow.parquet as pq

from rollmill.expectations.stream import FrameStream

_OF_ROLLOUTS: Final = ("row_key", "rollout_key", "is_first", "prompt_key", "is_selected", "is_last", "is_kept")
_AS_THEY_ARE: Final = (
    "step_idx",
    "num_steps",
    "candidate_idx",
    "reward_kind",
    "rollout_reward_kind",
    "producer_role",
    "finish_reason",
    "context_mode",
    "all_finite",
)


@dataclass(frozen=True, slots=True)
class UnitFacts:
    """The facts of one unit, and of its rows where they come from and in which file they are published.

    `merged` is the split of the merged dataset that they go to, `rows` how many there are.
    """

    unit: str
    layout: str
    source: str
    config: str
    split: str
    merged: str
    rows: int
    facts: Path
    rollouts: Path


class RolloutFacts(FrameStream):
    """Per row what the unified suite judges. A frame is a row group: whole rollouts, some ten thousand rows.

    `rows` and `rollouts` are the keys that several rows have, or the first rows of rollouts: to find them with
    `repeats.twice` takes far less memory than an expectation of uniqueness.
    """

    def __init__(self, units: Sequence[UnitFacts], rows: pl.Series, rollouts: pl.Series) -> None:
        self._units = units
        self._rows = rows.implode()
        self._rollouts = rollouts.implode()
        self.schema = self._frame(pl.DataFrame(schema=pl.read_parquet_schema(units[0].facts))).schema

    def __iter__(self) -> Iterator[pl.DataFrame]:
        for unit in self._units:
            with pq.ParquetFile(unit.facts) as file:
                for group in range(file.num_row_groups):
                    table = file.read_row_group(group, columns=[*_AS_THEY_ARE, *_OF_ROLLOUTS])
                    yield self._frame(pl.DataFrame(pl.from_arrow(table)))

    def _frame(self, facts: pl.DataFrame) -> pl.DataFrame:
        twice = {
            "row_key_twice": pl.col("row_key").is_in(self._rows),
            "rollout_key_twice": pl.col("is_first") & pl.col("rollout_key").is_in(self._rollouts),
        }
        return pl.concat([judged(facts), facts.select(**twice)], how="horizontal")


def judged(rows: pl.DataFrame) -> pl.DataFrame:
    """Derive per row whether its place in its rollout is right; `rows` are facts of whole rollouts, in order.

    Gives the facts as they are and: num_steps_right, is_last_right, step_gap (a step is left out or goes back),
    candidate_twice, selected_twice (a step has two selected candidates), prompt_moved (prompt_id is not the rollout's),
    starts_within (the first context is not given in full).
    A rollout with rows that were kept although they are bad may have steps left out: that was asked for.
    """
    key, step = pl.col("rollout_key"), pl.col("step_idx")
    marked = rows.with_columns(first=key.ne_missing(key.shift(1))).with_columns(run=pl.col("first").cum_sum())
    stepped = marked.with_columns(
        ahead=pl.when(~pl.col("first")).then(step - step.shift(1)),
        kept=pl.col("is_kept").any().over("run"),
    ).with_columns(new_step=pl.col("first") | (pl.col("ahead") != 0))
    first, again = pl.col("first"), ~pl.col("new_step")
    selected = pl.col("is_selected").fill_null(value=False).sum().over(pl.col("new_step").cum_sum())
    return stepped.select(
        *_AS_THEY_ARE,
        num_steps_right=(pl.col("num_steps") == pl.col("new_step").sum().over("run")),
        is_last_right=pl.col("is_last") == (step == step.last().over("run")),
        step_gap=~pl.col("kept") & ~pl.col("ahead").is_in([0, 1]).fill_null(value=True),
        candidate_twice=again & (pl.col("candidate_idx") <= pl.col("candidate_idx").shift(1)),
        selected_twice=selected > 1,
        prompt_moved=pl.col("prompt_key") != pl.col("prompt_key").first().over("run"),
        starts_within=first & (pl.col("context_mode") != "full"),
    )


def places(units: Sequence[UnitFacts]) -> pl.DataFrame:
    """List the splits of all sources in order: place (their number), source, config, split, merged."""
    named = list(dict.fromkeys((unit.source, unit.config, unit.split, unit.merged) for unit in units))
    frame = pl.DataFrame(named, schema=dict.fromkeys(("source", "config", "split", "merged"), pl.String), orient="row")
    return frame.with_row_index("place")


def facts_of_places(units: Sequence[UnitFacts]) -> pl.LazyFrame:
    """Give the facts of all units, each row with its place. Read lazily, a few row groups at a time."""
    files: dict[tuple[str, str, str], list[Path]] = {}
    for unit in units:
        files.setdefault((unit.source, unit.config, unit.split), []).append(unit.facts)
    scans = (
        pl.scan_parquet(paths).with_columns(place=pl.lit(at, pl.UInt32)) for at, paths in enumerate(files.values())
    )
    return pl.concat(scans)
