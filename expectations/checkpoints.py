"""Measures of what follows each other: checkpoints by their policy_step, splits by the number in their name."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from rollmill.expectations.measures import collected, moments, of_measures, variance
from rollmill.expectations.suites import dataset as limits

_SMALL_EFFECT: Final = 0.05
"""Of the standard deviation of a row: the least change of a mean that counts as usual."""
_SMALL_FACTOR: Final = 0.1
"""The same for the logarithm of a number of rows."""
_TO_SIGMA: Final = 1.4826
"""From the median of absolute deviations to a standard deviation, for normal numbers."""


def checkpoint_measures(facts: pl.LazyFrame, places: pl.DataFrame) -> pl.DataFrame:
    """Measure each checkpoint against the one before, where they are as far apart as most.

    Gives source, config, split (where the checkpoint is one split), policy_step and a column per measure of
    `limits.CHECKPOINTS`.
    """
    scopes = places.select("place", "source", "config", "merged", named="split")
    stepped = facts.filter(pl.col("policy_step").is_not_null())
    found = collected(stepped.group_by("place", "policy_step").agg(*moments("reward"), *moments("completion_bytes")))
    whole = _pooled(found.join(scopes, on="place"))
    scope = ["source", "config", "merged"]
    ordered = whole.sort(*scope, "policy_step")
    parts = [_jumps(steps) for _, steps in ordered.group_by(scope, maintain_order=True)]
    return of_measures(pl.concat([_jumps(whole.clear()), *parts]), limits.CHECKPOINTS)


def _pooled(found: pl.DataFrame) -> pl.DataFrame:
    sums = [name for name in found.columns if "." in name]
    one = pl.when(pl.len() == 1).then(pl.col("named").first()).alias("split")
    return found.group_by("source", "config", "merged", "policy_step").agg(pl.col(sums).sum(), one)


def _jumps(scope: pl.DataFrame) -> pl.DataFrame:
    """Compare the checkpoints of one scope, in order of their steps."""
    apart = pl.col("policy_step").diff()
    rows = pl.col("completion_bytes.n").cast(pl.Float64)
    return scope.with_columns(near=apart <= 3 * apart.median()).with_columns(
        reward_jump=_mean_jump("reward"),
        length_jump=_mean_jump("completion_bytes"),
        rows_jump=_jump(rows.log(), pl.lit(_SMALL_FACTOR)),
    )


def _mean_jump(column: str) -> pl.Expr:
    """Judge the change of a mean; by chance alone it is about its standard error."""
    count = pl.col(f"{column}.n").cast(pl.Float64)
    mean = pl.col(f"{column}.sum") / count
    of_rows = variance(column)
    chance = (of_rows / count + (of_rows / count).shift(1)).sqrt()
    return _jump(mean, pl.max_horizontal(chance, _SMALL_EFFECT * of_rows.median().sqrt()))


def _jump(level: pl.Expr, floor: pl.Expr) -> pl.Expr:
    """Give how often the usual change, or the floor if that is more, goes into the change from the one before."""
    change = pl.when("near").then(level.diff())
    off = (change - change.median()).abs()
    usual = pl.max_horizontal(_TO_SIGMA * off.median(), floor)
    return pl.when((change.count() >= limits.FEWEST_CHANGES) & (usual > 0)).then(off / usual)


def sequence_measures(places: pl.DataFrame) -> pl.DataFrame:
    """Measure the numbers of splits named alike but for a number at the end.

    Gives source, config, split (the name with `*` for the number), and a column per measure of `limits.SEQUENCES`.
    """
    named = pl.col("split").str.extract_groups(r"^(?<stem>.*?)(?<number>\d{1,18})$").struct
    numbered = places.with_columns(named.field("stem"), named.field("number").cast(pl.Int64)).drop_nulls("number")
    rows: list[dict[str, Any]] = []
    for (source, config, stem), group in numbered.group_by("source", "config", "stem", maintain_order=True):
        missing = _missing(group["number"].unique().sort())
        few = missing <= max(1, limits.LOST_SHARE * (missing + len(group)))
        row = {"splits_lost": missing if few else 0, "splits_skipped": 0 if few else missing}
        rows.append({"source": source, "config": config, "split": f"{stem}*", **row})
    schema = dict.fromkeys(("source", "config", "split"), pl.String) | dict.fromkeys(
        ("splits_lost", "splits_skipped"), pl.Int64
    )
    return of_measures(pl.DataFrame(rows, schema=schema), limits.SEQUENCES)


def _missing(numbers: pl.Series) -> int:
    """Count the numbers left out between the first and the last, at the finest step there is."""
    apart = numbers.diff().drop_nulls()
    return int((apart // apart.min() - 1).sum()) if len(apart) else 0
