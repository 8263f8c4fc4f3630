from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from rollmill.declared import compare_plan
from tests.conftest import Mill, write_parquet

ROWS = {"prompt": ["a"], "response": ["b"]}


def compared(mill: Mill, source: Any) -> list[tuple[Any, ...]]:
    return [(c.field, c.file, c.declared, c.observed, c.verdict) for c in compare_plan(mill.plan(source), {})]


def test_patterns_and_splits_of_the_card_that_no_file_makes(mill: Mill, tmp_path: Path) -> None:
    write_parquet(tmp_path / "lab" / "data" / "one.parquet", ROWS)
    files = {"train": ["data/one*", "data/two*"], "test": "gone.parquet"}
    config = {"config_name": "a", "data_dir": "data", "data_files": {"train": "*", "dev": "dev-*"}}
    header = yaml.safe_dump({"configs": [{"data_files": files}, config]}, sort_keys=False)
    (tmp_path / "lab" / "README.md").write_text(f"---\n{header}---\n")
    assert compared(mill, tmp_path / "lab") == [
        ("train.data_files", "README.md", "data/two*", None, "missing"),
        ("test.data_files", "README.md", "gone.parquet", None, "missing"),
        ("a.dev.data_files", "README.md", "dev-*", None, "missing"),
    ]
    selected = {"uri": str(tmp_path / "lab"), "config": "default", "splits": ["train"]}
    assert [field for field, *_ in compared(mill, selected)] == ["train.data_files"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["train-00000-of-00003", "train-00002-of-00003"], [(3, 2, "differs")]),
        (["train-00000-of-00002", "train-00001-of-00002"], [(2, 2, "equal")]),
        (["train-00000-of-00001"], []),
        (["train-00000-of-00001", "train-00001-of-00001"], [(1, 2, "differs")]),
        (["train-00000-of-00002", "train-00001-of-00002", "train-00000-of-00001"], [(2, 2, "equal")]),
        (["train"], []),
    ],
)
def test_files_numbered_in_their_names_are_counted(
    mill: Mill, tmp_path: Path, names: list[str], expected: list[tuple[int, int, str]]
) -> None:
    for name in names:
        write_parquet(tmp_path / "lab" / "data" / f"{name}.parquet", ROWS)
    found = compared(mill, tmp_path / "lab")
    assert [values for _, _, *values in found] == [list(values) for values in expected]
    assert all(field == "train.files" and file.startswith("data/train-00000-of") for field, file, *_ in found)
