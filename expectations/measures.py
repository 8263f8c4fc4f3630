"""Measures of the splits of a dataset: a small frame with a row per split, computed from the facts of its rows.

A measure is null where it has nothing to say. The columns are the codes of `rollmill.expectations.suites.dataset`,
which says what each should be. Facts are read as streams; what is held are sums, and keys a part at a time.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from rollmill.expectations import repeats
from rollmill.expectations.suites import dataset as limits

SCORED_ROWS: Final = 200_000
"""The first so many rows with pred, target and score are enough to see whether the score follows from the others."""

_HELD_OUT: Final = ("validation", "test")


def split_measures(facts: pl.LazyFrame, places: pl.DataFrame) -> pl.DataFrame:
    """Measure each split. `facts` are those of all rows with their place, `places` lists the places.

    Gives a row per place, in order: source, config, split, and a column per measure of `limits.SPLITS`.
    """
    sums = _sums(facts)
    parts = [
        _simple(sums),
        _capped(facts, sums),
        repeats.duplicates(facts, places),
        _flat_groups(facts),
        _score_unexplained(facts),
        _prompts_seen(facts, places),
    ]
    whole = places
    for part in parts:
        whole = whole.join(part, on="place", how="left", maintain_order="left")
    return of_measures(whole, limits.SPLITS)


def collected(frame: pl.LazyFrame) -> pl.DataFrame:
    """Collect, reading as a stream."""
    return frame.collect(engine="streaming")


def of_measures(frame: pl.DataFrame, measures: tuple[limits.Measure, ...]) -> pl.DataFrame:
    """Give of a frame where its rows are, and its measures as float64."""
    where = (name for name in ("source", "config", "split", "policy_step") if name in frame.columns)
    return frame.select(*where, *(pl.col(measure.code).cast(pl.Float64) for measure in measures))


def _if_enough(count: pl.Expr, fewest: int, measure: pl.Expr) -> pl.Expr:
    return pl.when(count >= fewest).then(measure)


def _sums(facts: pl.LazyFrame) -> pl.DataFrame:
    """Add up per place what the simple measures follow from: nothing but sums, counts, least and largest values."""
    both = pl.col("value_pred").is_not_null() & pl.col("value_target").is_not_null()
    pred, target = (pl.when(both).then(name) for name in ("value_pred", "value_target"))
    likely = pl.when(pl.col("reward_kind") == "action_likelihood").then("reward")
    cut, reason = pl.col("truncated"), pl.col("finish_reason")
    told = pl.col("is_last") & (cut.is_not_null() | reason.is_not_null())
    ends = pl.when(told).then(cut.fill_null(value=False) | reason.eq_missing("length"))
    derived = facts.with_columns(pred=pred, target=target, likely=likely, ends=ends, product=pred * target)
    totals = ("advantage_nulled", "hidden_messages", "context_messages", "completion_bytes", "ends")
    largest = ("completion_tokens", "completion_bytes", "pred")
    return collected(
        derived.group_by("place").agg(
            pl.len().alias("rows"),
            *(part for name in ("reward", "value_target", "advantage") for part in _spread(name)),
            *(part for name in ("pred", "target") for part in moments(name)),
            *(pl.col(name).max().alias(f"{name}.max") for name in largest),
            *(pl.col(name).cast(pl.Int64).sum() for name in totals),
            *(pl.col(name).count().alias(f"{name}.n") for name in ("likely", "ends")),
            pl.col("pred").min().alias("pred.min"),
            pl.col("product").sum(),
            (~pl.col("likely").is_between(0, 1)).sum().alias("unlikely"),
        )
    )


def _spread(column: str) -> list[pl.Expr]:
    values = pl.col(column)
    return [
        values.count().alias(f"{column}.n"),
        values.min().alias(f"{column}.min"),
        values.max().alias(f"{column}.max"),
        (values == 0).sum().alias(f"{column}.wrong"),
        (values.abs() == 1).sum().alias(f"{column}.right"),
    ]


def moments(column: str) -> list[pl.Expr]:
    """Sum up what mean and variance of a column follow from: its values, their squares, and how many there are."""
    values = pl.col(column).cast(pl.Float64)
    return [
        values.count().alias(f"{column}.n"),
        values.sum().alias(f"{column}.sum"),
        (values**2).sum().alias(f"{column}.squares"),
    ]


def _simple(sums: pl.DataFrame) -> pl.DataFrame:
    """Give the measures that follow from sums."""
    hidden, messages = pl.col("hidden_messages"), pl.col("context_messages")
    nulled, rows = pl.col("advantage_nulled"), pl.col("rows")
    advantages = nulled + pl.col("advantage.n")
    longest = pl.col("completion_bytes.max") / (pl.col("completion_bytes") / rows)
    return sums.select(
        "place",
        *_value_measures(),
        same_reward_rows=_same("reward"),
        same_advantage_rows=_same("advantage"),
        reward_off_support=_off_support("reward"),
        target_off_support=_off_support("value_target"),
        likelihood_off_range=_if_enough(pl.col("likely.n"), 1, pl.col("unlikely") / pl.col("likely.n")),
        reward_unrecorded=_if_enough(pl.col("reward.n"), 1, 1 - pl.col("reward.n") / rows),
        advantage_not_computed=_if_enough(advantages, 1, nulled / advantages),
        hidden_observations=_if_enough(messages, 1, hidden / messages),
        truncated_share=_if_enough(pl.col("ends.n"), limits.FEWEST_ROWS, pl.col("ends") / pl.col("ends.n")),
        longest_completion=_if_enough(rows, limits.FEWEST_ROWS, longest),
    )


def _same(column: str) -> pl.Expr:
    """Count the values if they are all the same, else 0."""
    count = pl.col(f"{column}.n")
    same = pl.when(pl.col(f"{column}.min") == pl.col(f"{column}.max")).then(count).otherwise(0)
    return _if_enough(count, limits.FEWEST_ROWS, same)


def _off_support(column: str) -> pl.Expr:
    """Give the share of values that are not right or wrong (1 or 0 or -1), if nearly all are."""
    count = pl.col(f"{column}.n")
    wrong, right = pl.col(f"{column}.wrong") / count, pl.col(f"{column}.right") / count
    off = (count - pl.col(f"{column}.wrong") - pl.col(f"{column}.right")) / count
    meant = (off <= 1 - limits.NEARLY) & (wrong >= limits.LEAST_USED) & (right >= limits.LEAST_USED)
    return _if_enough(count, limits.FEWEST_ROWS, pl.when(meant).then(off))


def _value_measures() -> list[pl.Expr]:
    """Compare a critic's predictions with their targets."""
    count = pl.col("pred.n")
    pred, target = pl.col("pred.sum") / count, pl.col("target.sum") / count
    spread = pl.col("value_target.max") - pl.col("value_target.min")
    bias = pl.when(spread > 0).then((pred - target).abs() / spread)
    both = (variance("pred") * variance("target")).sqrt()
    varied = (spread > 0) & (pl.col("pred.max") > pl.col("pred.min")) & (both > 0)
    correlation = pl.when(varied).then((pl.col("product") / count - pred * target) / both)
    return [
        _if_enough(count, limits.FEWEST_PAIRS, bias).alias("value_bias"),
        _if_enough(count, limits.FEWEST_PAIRS, correlation).alias("value_correlation"),
    ]


def variance(column: str) -> pl.Expr:
    """Give the variance of a column from its `moments`."""
    count = pl.col(f"{column}.n")
    return (pl.col(f"{column}.squares") / count - (pl.col(f"{column}.sum") / count) ** 2).clip(lower_bound=0)


def _capped(facts: pl.LazyFrame, sums: pl.DataFrame) -> pl.DataFrame:
    """Measure how many completions are as long as the longest: in tokens, or nearly in bytes where none are given."""
    longest = sums.select("place", "rows", tokens="completion_tokens.max", size="completion_bytes.max")
    at_bytes = pl.col("completion_bytes") >= pl.col("size") * limits.NEAR_LONGEST
    at_tokens = pl.col("completion_tokens") == pl.col("tokens")
    found = facts.select("place", "completion_bytes", "completion_tokens").join(longest.lazy(), on="place")
    counts = collected(found.group_by("place").agg(by_bytes=at_bytes.sum(), by_tokens=at_tokens.sum()))
    by_bytes, by_tokens = (pl.col(name) / pl.col("rows") for name in ("by_bytes", "by_tokens"))
    in_bytes = pl.when((pl.col("size") >= limits.LONG_BYTES) & (by_bytes < 1 / 2)).then(by_bytes)
    in_tokens = pl.when(pl.col("tokens") >= limits.LONG_TOKENS).then(by_tokens)
    share = pl.when(pl.col("tokens").is_not_null()).then(in_tokens).otherwise(in_bytes)
    return longest.join(counts, on="place").select(
        "place", capped_share=_if_enough(pl.col("rows"), limits.FEWEST_ROWS, share)
    )


def _flat_groups(facts: pl.LazyFrame) -> pl.DataFrame:
    """Measure the groups of several samples; a critic's rows share prompts without being compared."""
    value = pl.coalesce("rollout_reward", "reward")
    samples = facts.filter(pl.col("is_sample") & value.is_not_null() & (pl.col("producer_role") != "critic"))
    parts = repeats.parts(samples.select("place", "group_key", value=value), "group_key")
    groups = pl.concat(repeats.agreement(part, ["group_key"]) for part in parts).group_by("place").sum()
    share = pl.col("one_value") / pl.col("several")
    return groups.select("place", flat_groups=_if_enough(pl.col("several"), limits.FEWEST_GROUPS, share))


def _score_unexplained(facts: pl.LazyFrame) -> pl.DataFrame:
    """Measure whether a critic's score is a function of prediction and target but for some; null if it is none."""
    known = facts.filter(pl.all_horizontal(pl.col("value_pred", "value_target", "reward").is_not_null()))
    rows = known.select("place", "value_pred", "value_target", value=pl.col("reward").round(9)).head(SCORED_ROWS)
    pairs = repeats.agreement(collected(rows), ["place", "value_pred", "value_target"])
    share = 1 - pl.col("one_value") / pl.col("several")
    nearly = (pl.col("several") >= limits.FEWEST_GROUPS) & (share <= 1 - limits.NEARLY)
    return pairs.select("place", score_unexplained=pl.when(nearly).then(share))


def _prompts_seen(facts: pl.LazyFrame, places: pl.DataFrame) -> pl.DataFrame:
    """Measure which prompts of the held-out splits are in a train split of any source."""
    held = places.filter(pl.col("merged").is_in(_HELD_OUT))["place"].implode()
    prompts = facts.filter("is_first").select("place", "prompt_key", held=pl.col("place").is_in(held))
    counts = [_seen(part) for part in repeats.parts(prompts, "prompt_key")] if len(held[0]) else []
    whole = pl.concat([*counts, pl.DataFrame(schema=_SEEN)]).group_by("place").sum()
    return whole.select("place", prompts_seen_in_training=pl.col("seen") / pl.col("asked"))


_SEEN: Final = pl.Schema({"place": pl.UInt32(), "asked": pl.Int64(), "seen": pl.Int64()})


def _seen(prompts: pl.DataFrame) -> pl.DataFrame:
    """Count per place held out its prompts, and those of them that a place of training has too."""
    asked = prompts.filter("held").select("place", "prompt_key").unique()
    trained = prompts.filter(~pl.col("held"))["prompt_key"].implode()
    counts = asked.group_by("place").agg(asked=pl.len(), seen=pl.col("prompt_key").is_in(trained).sum())
    return counts.cast(_SEEN)
