"""What repeats: keys that stand in several rows, within a split and across splits, and what these rows agree on.

Keys are cut from hashes, so the remainder of a division parts them evenly, equal ones together: what is held at once is
about `PART_ROWS` rows, whatever the size of the dataset.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from rollmill.expectations.suites.dataset import FEWEST_ROWS

PART_ROWS: Final = 500_000


def parts(rows: pl.LazyFrame, key: str) -> Iterator[pl.DataFrame]:
    """Collect rows part by part, those of one key in the same part. There is at least one part."""
    total = rows.select(pl.len()).collect(engine="streaming").item()
    count = -(-total // PART_ROWS) or 1
    for part in range(count):
        yield rows.filter(pl.col(key) % count == part).collect(engine="streaming")


def twice(facts: pl.LazyFrame, key: str) -> pl.Series:
    """Give the keys that several rows have; null is none."""
    keys = facts.select(key).filter(pl.col(key).is_not_null())
    return pl.concat(part.filter(pl.col(key).is_duplicated())[key].unique() for part in parts(keys, key))


def duplicates(facts: pl.LazyFrame, places: pl.DataFrame) -> pl.DataFrame:
    """Measure per place which of its rollouts stand there before, or elsewhere too.

    Compares last rows, whose context holds what came before: equal ones end equal rollouts. `places` has place and
    source. Gives place and the shares duplicate_share (beyond the first; null for few rollouts),
    duplicate_across_splits (of one source) and duplicate_across_sources.
    """
    keys = facts.filter("is_last").select("place", key="content_key")
    sources = places.select("place", source=pl.col("source").rank("dense"))
    counts = pl.concat(_repeated(part, sources) for part in parts(keys, "key")).group_by("place").sum()
    share = [pl.col(name) / pl.col("rollouts") for name in ("duplicate_across_splits", "duplicate_across_sources")]
    within = pl.when(pl.col("rollouts") >= FEWEST_ROWS).then(pl.col("again") / pl.col("rollouts"))
    return counts.select("place", *share, duplicate_share=within)


def _repeated(keys: pl.DataFrame, sources: pl.DataFrame) -> pl.DataFrame:
    """Count per place its rollouts, those that come again there, and those that are elsewhere too."""
    several = keys.filter(pl.col("key").is_duplicated())
    held = several.join(sources, on="place").group_by("key", "source", "place").agg(count=pl.len())
    known = held.with_columns(
        splits=pl.len().over("key", "source"),
        sources=pl.col("source").n_unique().over("key"),
    )
    count = pl.col("count")
    found = known.group_by("place").agg(
        again=(count - 1).sum(),
        duplicate_across_splits=count.filter(pl.col("splits") > 1).sum(),
        duplicate_across_sources=count.filter(pl.col("sources") > 1).sum(),
    )
    return keys.group_by("place").agg(rollouts=pl.len()).join(found, on="place", how="left").fill_null(0)


def agreement(rows: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Count per place how many keys that several rows have go with one value only.

    `rows` has place, the columns of `key`, and value. Gives place, several (keys of several rows), one_value.
    """
    value = pl.col("value")
    place = pl.col("place").first().alias("at")
    keys = rows.group_by(key).agg(place, rows=pl.len(), same=value.min() == value.max()).filter(pl.col("rows") > 1)
    return keys.group_by(place="at").agg(several=pl.len(), one_value=pl.col("same").sum())
