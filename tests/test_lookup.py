from pathlib import Path

import pytest

from rollmill.errors import AccessError, ConfigError
from rollmill.lookup import find_row
from tests.conftest import Mill, Milled, write_lines


@pytest.fixture
def milled(mill: Mill, tmp_path: Path) -> Milled:
    for split in ("train", "test"):
        lines = [{"prompt": f"{split} {i}", "response": f"answer {i}"} for i in range(3)]
        write_lines(tmp_path / "lab" / "data" / f"{split}.jsonl", lines)
    return mill(tmp_path / "lab")


def test_each_row_is_found_with_its_source_row(milled: Milled) -> None:
    for row in milled.rollouts().to_pylist():
        found = find_row(milled.destination, row["row_id"])
        assert found.row == row
        assert (found.uri, found.source_path) == ("file:lab", f"data/{row['source_split']}.jsonl")
        assert found.source_row == int(row["completion"][0]["content"].removeprefix("answer "))
        assert (found.file.split, found.revision) == (row["source_split"], milled.version.sources[0].revision)


def test_an_earlier_version_is_looked_through(milled: Milled, mill: Mill, tmp_path: Path) -> None:
    row_id = milled.rollouts().column("row_id")[0].as_py()
    write_lines(tmp_path / "lab" / "data" / "train.jsonl", [{"prompt": "new", "response": "r"}] * 4)
    write_lines(tmp_path / "lab" / "data" / "test.jsonl", [{"prompt": "newer", "response": "r"}] * 4)
    mill(tmp_path / "lab")
    with pytest.raises(ConfigError, match=rf"No row of .* has the row_id '{row_id}' \(8 rows\)"):
        find_row(milled.destination, row_id)
    assert find_row(milled.destination, row_id, 1).row["row_id"] == row_id


def test_a_data_file_that_is_gone(milled: Milled) -> None:
    for file in milled.version.files:
        milled.destination.data_path(file).unlink()
    with pytest.raises(AccessError, match="missing"):
        find_row(milled.destination, "0" * 32)
