from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from rollmill.declared import Comparison, compare_plan
from tests.conftest import Mill, write_lines, write_parquet

ROWS = {"prompt": ["What is one and one?", "b"], "response": ["two, " * 200, "d"]}


def card(folder: Path, info: Any, **more: Any) -> Path:
    text = yaml.safe_dump({"dataset_info": info} | more, sort_keys=False)
    (folder / "README.md").write_text(f"---\n{text}---\nIt holds 9,999 rows.\n")
    return folder


def compared(mill: Mill, *sources: Any) -> dict[str, tuple[Any, Any, str]]:
    found = compare_plan(mill.plan(*sources), {})
    return {c.field: (c.declared, c.observed, c.verdict) for c in found if c.field != "train.files"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_parquet(tmp_path / "lab" / "train.parquet", ROWS)
    write_parquet(tmp_path / "lab" / "test.parquet", ROWS)
    return tmp_path / "lab"


def test_splits_are_compared_by_name_both_ways_and_by_number(mill: Mill, folder: Path) -> None:
    splits = [{"name": "train", "num_examples": 2}, {"name": "validation", "num_examples": 7}, {"name": "dev"}]
    assert compared(mill, card(folder, {"splits": splits})) == {
        "train.num_examples": (2, 2, "equal"),
        "validation.num_examples": (7, None, "missing"),
        "dev.num_examples": (None, None, "missing"),
        "test.num_examples": (None, 2, "undeclared"),
        "splits": (3, 2, "differs"),
    }


def test_splits_that_were_not_asked_for_are_not_missed(mill: Mill, folder: Path) -> None:
    splits = [{"name": "train", "num_examples": 2}, {"name": "validation", "num_examples": 7}]
    card(folder, {"splits": splits, "download_size": 1, "dataset_size": 1})
    assert compared(mill, {"uri": str(folder), "splits": ["train"]}) == {
        "train.num_examples": (2, 2, "equal"),
        "splits": (1, 1, "equal"),
    }


def test_configs_are_compared_apart_and_one_that_is_not_there_is_missing(mill: Mill, tmp_path: Path) -> None:
    write_lines(tmp_path / "lab" / "a.jsonl", [{"prompt": "a", "response": "b"}])
    write_lines(tmp_path / "lab" / "b.jsonl", [{"prompt": "c", "response": "d"}, {"prompt": "e", "response": "f"}])
    blocks = [{"config_name": name, "splits": [{"name": "train", "num_examples": 1}]} for name in "abc"]
    configs = [{"config_name": name, "data_files": f"{name}.jsonl"} for name in "ab"]
    card(tmp_path / "lab", blocks, configs=configs)
    assert compared(mill, tmp_path / "lab") == {
        "a.train.num_examples": (1, 1, "equal"),
        "a.splits": (1, 1, "equal"),
        "b.train.num_examples": (1, 2, "differs"),
        "b.splits": (1, 1, "equal"),
        "c.splits": (1, None, "missing"),
    }
    assert compared(mill, {"uri": str(tmp_path / "lab"), "config": "a"}).keys() == {"a.train.num_examples", "a.splits"}


def test_a_config_without_a_split_that_is_read_is_not_missed(mill: Mill, folder: Path) -> None:
    other = {"config_name": "b", "splits": [{"name": "test", "num_examples": 2}]}
    card(folder, [{"splits": [{"name": "train", "num_examples": 2}]}, other, {"config_name": "c"}])
    found = compared(mill, {"uri": str(folder), "splits": ["train"]})
    assert found == {"train.num_examples": (2, 2, "equal"), "splits": (1, 1, "equal")}


def sizes(mill: Mill, folder: Path) -> dict[str, Comparison]:
    return {c.field: c for c in mill(folder).report.declared_vs_observed if "size" in c.field or "bytes" in c.field}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # within datasets
def test_bytes_are_counted_as_datasets_counts_them(mill: Mill, folder: Path) -> None:
    import datasets

    rows = {
        "prompt": [f"What is {i} and {i}?" for i in range(900)],
        "response": ["two, " * (i % 50 + 1) for i in range(900)],
    }
    write_parquet(folder / "train.parquet", rows)
    size = datasets.Dataset.from_dict(rows)._estimate_nbytes()
    card(folder, {"splits": [{"name": "train", "num_bytes": size}, {"name": "test", "num_bytes": size}]})
    found = sizes(mill, folder)
    assert not found["train.num_bytes"].drifts
    assert found["test.num_bytes"].verdict == "differs"
    assert abs(found["train.num_bytes"].observed - size) < 500
    assert found["train.num_bytes"].counted == "bytes as Arrow"


def test_bytes_of_all_files_and_records(mill: Mill, folder: Path) -> None:
    on_disk = sum((folder / name).stat().st_size for name in ("train.parquet", "test.parquet"))
    info = {"splits": [{"name": "train"}, {"name": "test"}], "download_size": on_disk, "dataset_size": 10**9}
    found = sizes(mill, card(folder, info))
    assert (found["download_size"].observed, found["download_size"].verdict) == (on_disk, "equal")
    assert found["dataset_size"].verdict == "differs"
    assert 2000 < found["dataset_size"].observed < 4000  # type: ignore[operator]


def test_before_validation_and_of_json_lines_bytes_as_arrow_are_not_checked(mill: Mill, folder: Path) -> None:
    card(folder, {"splits": [{"name": "train", "num_bytes": 9}]})
    assert compared(mill, folder)["train.num_bytes"] == (9, None, "unchecked")
    (folder / "train.parquet").unlink()
    write_lines(folder / "train.jsonl", [{"prompt": "a", "response": "b"}])
    assert sizes(mill, folder)["train.num_bytes"].verdict == "unchecked"


HUGE = "0x" + "f" * 9000


@pytest.mark.parametrize(
    "block",
    [
        "splits: lots",
        "splits: [{name: [a, b], num_examples: 1}, 7, {num_examples: 3}]",
        "splits: [{name: train, num_examples: many, num_bytes: [1]}]",
        f"splits: [{{name: train, num_examples: {HUGE}, num_bytes: -4}}]\n  download_size: {HUGE}",
        "splits: [{name: train, num_examples: true}]\n  dataset_size: .nan",
        "splits: {train: {num_examples: .inf}, [1, 2]: {num_examples: 1}}",
        "config_name: {a: b}\n  splits: [{name: train, num_examples: 9}]",
        "features: {a: string}\n  splits:",
    ],
)
def test_a_card_with_absurd_types_declares_no_number(mill: Mill, folder: Path, block: str) -> None:
    (folder / "README.md").write_text(f"---\ndataset_info:\n  {block}\nconfigs: 7\n---\n")
    found = compared(mill, folder)
    assert not any(isinstance(declared, int) and declared > 1 for declared, _, _ in found.values())


def test_names_that_yaml_takes_for_numbers_or_dates_are_names(mill: Mill, tmp_path: Path) -> None:
    write_parquet(tmp_path / "lab" / "x.parquet", ROWS)
    (tmp_path / "lab" / "README.md").write_text(
        "---\ndataset_info: {splits: [{name: 7, num_examples: 2}]}\n"
        "configs: [{data_files: [{split: 7, path: x.parquet}]}]\n---\n"
    )
    assert compared(mill, tmp_path / "lab")["7.num_examples"] == (2, 2, "equal")


def test_a_source_without_a_card_declares_nothing(mill: Mill, folder: Path) -> None:
    assert compared(mill, folder) == {}
