"""The order of steps: what of a rollout is missing, twice or too late."""

from __future__ import annotations

import polars as pl


def step_faults(steps: pl.DataFrame) -> pl.DataFrame:
    """Derive per row whether its step is out of order.

    `steps` has the rows of whole rollouts: rollout, step, candidate, end (see `RolloutLayout.sequence`). Returns one
    row for each, in the same order: step_unnumbered (it has no number), step_gap (the rollout lacks a step before this
    one), duplicate_step (an earlier row has the same step and candidate), steps_after_end (an earlier step had the end
    flag).
    """
    numbered = steps.with_row_index("at")
    distinct = numbered.select("rollout", "step").drop_nulls().unique()
    dense = distinct.with_columns(rank=pl.col("step").rank("dense").over("rollout").cast(pl.Int64) - 1)
    first_end = numbered.filter("end").group_by("rollout").agg(pl.col("step").min().alias("ended"))
    found = numbered.join(dense, on=["rollout", "step"], how="left", maintain_order="left").join(
        first_end, on="rollout", how="left", maintain_order="left"
    )
    return found.select(
        step_unnumbered=pl.col("step").is_null(),
        step_gap=(pl.col("step") != pl.col("rank")).fill_null(value=False),
        duplicate_step=pl.col("step").is_not_null() & ~pl.struct("rollout", "step", "candidate").is_first_distinct(),
        steps_after_end=(pl.col("step") > pl.col("ended")).fill_null(value=False),
    )
