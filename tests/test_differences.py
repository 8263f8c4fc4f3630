from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from rollmill.differences import SplitDifference, differences
from rollmill.errors import AccessError
from tests.conftest import Mill, Milled, write_lines


def publish(mill: Mill, folder: Path, **splits: Sequence[str]) -> Milled:
    for path in folder.glob("*"):
        path.unlink()
    for split, answers in splits.items():
        write_lines(folder / f"{split}.jsonl", [{"prompt": "p", "response": answer} for answer in answers])
    return mill({"uri": str(folder), "name": "lab"})


def compared(milled: Milled, before: int, after: int) -> dict[str, tuple[int, int, int, int]]:
    """Give per split how many rows were added, removed, changed, and are the same."""
    found = differences(milled.destination, before, after)
    return {one.split: (one.added, one.removed, one.changed, one.same) for one in found}


def test_rows_added_removed_and_changed(mill: Mill, tmp_path: Path) -> None:
    publish(mill, tmp_path / "lab", train=["a", "b", "c"])
    milled = publish(mill, tmp_path / "lab", train=["a", "B", "c", "d"])
    assert compared(milled, 1, 2) == {"train": (1, 0, 1, 2)}
    assert compared(milled, 2, 1) == {"train": (0, 1, 1, 2)}
    assert compared(milled, 1, 1) == {"train": (0, 0, 0, 3)}


def test_a_row_that_moves_is_the_same(mill: Mill, tmp_path: Path) -> None:
    publish(mill, tmp_path / "lab", train=["a", "b", "c", "d"])
    milled = publish(mill, tmp_path / "lab", train=["d", "c", "b", "a"])
    assert compared(milled, 1, 2) == {"train": (0, 0, 0, 4)}


def test_equal_rows_count_one_by_one(mill: Mill, tmp_path: Path) -> None:
    publish(mill, tmp_path / "lab", train=["a", "a", "a"])
    milled = publish(mill, tmp_path / "lab", train=["a"])
    assert compared(milled, 1, 2) == {"train": (0, 2, 0, 1)}


def test_splits_that_come_and_go(mill: Mill, tmp_path: Path) -> None:
    publish(mill, tmp_path / "lab", train=["a"], test=["b", "c"])
    milled = publish(mill, tmp_path / "lab", train=["a"], validation=["v"])
    assert compared(milled, 1, 2) == {"train": (0, 0, 0, 1), "validation": (1, 0, 0, 0), "test": (0, 2, 0, 0)}
    assert sum(one.before for one in differences(milled.destination, 1, 2)) == 3


def test_files_of_both_versions_are_not_opened(mill: Mill, tmp_path: Path) -> None:
    publish(mill, tmp_path / "lab", train=["a"], test=["b"])
    milled = publish(mill, tmp_path / "lab", train=["a"], test=["b", "c"])
    shared = next(file for file in milled.version.files if file.split == "train")
    milled.destination.data_path(shared).unlink()
    assert compared(milled, 1, 2) == {"train": (0, 0, 0, 1), "test": (1, 0, 0, 1)}


def test_rows_that_were_normalized_anew_are_changed(mill: Mill, tmp_path: Path) -> None:
    milled = publish(mill, tmp_path / "lab", train=["a", "b"])
    publish(mill, tmp_path / "lab", train=["a", "b", "c"])
    path = milled.destination.data_path(milled.version.files[0])
    pl.read_parquet(path).with_columns(content_id=pl.lit("0" * 32)).write_parquet(path)
    assert compared(milled, 1, 2) == {"train": (1, 0, 2, 0)}


def test_a_version_that_is_not_there(mill: Mill, tmp_path: Path) -> None:
    milled = publish(mill, tmp_path / "lab", train=["a"])
    with pytest.raises(AccessError, match=r"no version 7\. It has: 1"):
        differences(milled.destination, 1, 7)
    (only,) = differences(milled.destination, 1, 1)
    assert only == SplitDifference("lab", "default", "train", 1, 1, 0, 0, 0)
