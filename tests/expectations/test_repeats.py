from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from rollmill.expectations import repeats
from rollmill.expectations.repeats import agreement, duplicates, parts, twice
from tests.expectations.rows import Dataset


@pytest.fixture(params=[1, 7, 1_000_000])
def _part_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found does not depend on how much is held at once."""
    monkeypatch.setattr(repeats, "PART_ROWS", request.param)


@pytest.mark.usefixtures("_part_rows")
def test_parts_hold_every_row_once_and_equal_keys_together() -> None:
    rows = pl.DataFrame({"key": [5, 9, 5, 2, 9, 9, 7], "n": range(7)})
    found = list(parts(rows.lazy(), "key"))
    assert sorted(n for part in found for n in part["n"]) == list(range(7))
    assert sum(part["key"].n_unique() for part in found) == 4


def test_there_is_a_part_without_rows() -> None:
    assert [part.height for part in parts(pl.LazyFrame({"key": pl.Series([], dtype=pl.UInt64)}), "key")] == [0]


@pytest.mark.usefixtures("_part_rows")
def test_keys_of_several_rows_are_found(tmp_path: Path) -> None:
    dataset = Dataset(tmp_path).add("a", "train", 4, row_key=[11, 12, 11, 13]).add("b", "train", 2, row_key=[13, 14])
    assert sorted(twice(dataset.facts, "row_key")) == [11, 13]
    assert twice(dataset.facts.filter("is_first"), "group_key").to_list() == []


@pytest.mark.usefixtures("_part_rows")
def test_duplicates_are_told_by_where_the_others_are(tmp_path: Path) -> None:
    shared = [*range(100, 110)]
    dataset = (
        Dataset(tmp_path)
        .add("a", "train_1", 100, content_key=[*([7] * 20), *range(1000, 1060), *shared, *range(2000, 2010)])
        .add("a", "train_2", 50, content_key=[*shared[:5], *range(3000, 3045)])
        .add("b", "train", 20, content_key=[*shared[5:], *range(2000, 2005), *range(4000, 4010)])
    )
    found = duplicates(dataset.facts, dataset.places).sort("place")
    assert found["duplicate_share"].to_list() == [0.19, 0.0, None]
    assert found["duplicate_across_splits"].to_list() == [0.05, 0.1, 0.0]
    assert found["duplicate_across_sources"].to_list() == [0.1, 0.0, 0.5]


def test_only_last_steps_are_compared(tmp_path: Path) -> None:
    is_last = [False, True] * 50
    keys = [key for n in range(50) for key in (7, 100 + n)]
    dataset = Dataset(tmp_path).add("a", "train", 100, content_key=keys, is_last=is_last)
    assert duplicates(dataset.facts, dataset.places)["duplicate_share"].to_list() == [0.0]


def test_agreement_counts_keys_of_several_rows() -> None:
    rows = pl.DataFrame(
        {"place": [0, 0, 0, 0, 0, 1, 1], "key": [1, 1, 2, 2, 3, 4, 4], "value": [0.0, 0.0, 0.0, 1.0, 5.0, 2.0, 2.0]}
    )
    assert agreement(rows, ["key"]).sort("place").rows() == [(0, 2, 1), (1, 1, 1)]
    assert agreement(rows.clear(), ["key"]).rows() == []
