"""What users do with a published folder: `datasets`, and the examples on its card."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow.dataset as ds
import pytest

from rollmill.publish import FolderDestination

if TYPE_CHECKING:
    from pathlib import Path

    from tests.publish.conftest import Mill

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`load_dataset` offline, with a cache of its own and no progress bars."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import datasets

    datasets.disable_progress_bars()
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")

    def load_dataset(destination: FolderDestination, *arguments: Any, **options: Any) -> Any:
        return datasets.load_dataset(str(destination.path), *arguments, cache_dir=str(tmp_path / "cache"), **options)

    return load_dataset


def rows(split: Any) -> list[tuple[str, str, int]]:
    return list(zip(split["data_source"], split["source_split"], split["step_idx"], strict=True))


def test_default_holds_all_sources_in_order(filled: Mill, destination: FolderDestination, load: Any) -> None:
    filled.files.reverse()
    filled.publish(destination)
    loaded = load(destination)
    assert set(loaded) == {"train", "test"}
    expected = [("alpha", "train_2", 0), ("alpha", "train_2", 1), ("alpha", "train_1", 3), ("alpha", "train_1", 4)]
    assert rows(loaded["train"]) == expected + [("alpha", "train_1", place) for place in range(3)]
    assert rows(loaded["test"]) == [("owner/Beta", "test", place) for place in range(4)]


def test_each_source_is_a_config(filled: Mill, destination: FolderDestination, load: Any) -> None:
    filled.publish(destination)
    loaded = load(destination, "alpha")
    assert {name: split.num_rows for name, split in loaded.items()} == {"train_1": 5, "train_2": 2}
    assert load(destination, "owner--Beta", split="test").num_rows == 4
    streamed = load(destination, "alpha", split="train_1", streaming=True)
    assert [row["step_idx"] for row in streamed] == [0, 1, 2, 3, 4]


def test_a_new_version_hides_what_it_left_out(filled: Mill, destination: FolderDestination, load: Any) -> None:
    filled.publish(destination)
    filled.only(1)
    filled.publish(destination, allow_shrink=True)
    assert {name: split.num_rows for name, split in load(destination).items()} == {"train": 3}


@pytest.mark.parametrize(
    "name", ["../x", "a|b", "<script>", "two\nlines", "all", "default", "train-1[0:5]", "*", "null", "1"]
)
def test_hostile_names_load(mill: Mill, destination: FolderDestination, load: Any, name: str) -> None:
    mill.add(name, name, 2, config=name)
    mill.publish(destination)
    mapped = destination.read_manifest().mapping[0]
    loaded = load(destination, mapped.published_config)
    assert {split: of.num_rows for split, of in loaded.items()} == {mapped.published_split: 2}
    assert sum(split.num_rows for split in load(destination).values()) == 2


def test_the_examples_on_the_card_run(filled: Mill, destination: FolderDestination) -> None:
    filled.publish(destination)
    filled.only(1)
    filled.publish(destination, allow_shrink=True)
    page = (destination.path / "README.md").read_text()
    scope: dict[str, Any] = {}
    counts = []
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        if "load_dataset" not in block:
            exec(block.replace("DEST", str(destination.path)), scope)
            counts += [count(scope["rollouts"])] if "rollouts" in scope else []
    assert counts == [3, 3, 3]


def count(rollouts: Any) -> int:
    if isinstance(rollouts, pl.LazyFrame):
        return rollouts.collect().height
    return int(rollouts.count_rows()) if isinstance(rollouts, ds.Dataset) else len(rollouts.fetchall())
