from pathlib import Path

import pyarrow as pa
import pytest

from rollmill.config import load_pipeline
from rollmill.describe import describe
from rollmill.errors import SourceMissingError
from rollmill.sources.index import StatIndex
from tests.conftest import write_lines, write_parquet


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    rows = {"prompt": ["a", "b"], "response": [None, "y"], "score": [1.0, None], "note": pa.nulls(2)}
    write_parquet(tmp_path / "lab" / "train.parquet", rows)
    write_parquet(tmp_path / "lab" / "validation.parquet", {"prompt": ["c"], "response": ["z"], "score": [2]})
    return tmp_path / "lab"


def test_columns_splits_and_layouts(lab: Path) -> None:
    found = describe(str(lab))
    assert found.splits == {("default", "train"): 2, ("default", "validation"): 1}
    columns = {column.name: (column.type, column.nulls, column.example) for column in found.columns}
    assert columns == {
        "prompt": ("string", 0, "a"),
        "response": ("string", 1, "y"),
        "score": ("double", 1, 1.0),
        "note": ("null", 2, None),
    }
    assert found.sampled == 2
    assert found.layout == "prompt_response"
    assert found.fits[0].layout == "prompt_response"
    why = {fit.layout: fit.problems for fit in found.fits}
    assert why["ppo_critic"] == ("no column pred", "no column target")


def test_what_no_layout_fits_is_described_all_the_same(tmp_path: Path) -> None:
    write_lines(tmp_path / "lab" / "train.jsonl", [{"question": "q", "answer": "a"}])
    found = describe(str(tmp_path / "lab"))
    assert found.layout is None
    assert [column.name for column in found.columns] == ["question", "answer"]


def test_the_pipeline_file_can_be_run(lab: Path, tmp_path: Path) -> None:
    path = tmp_path / "pipeline.yaml"
    path.write_text(describe(str(lab)).pipeline_file(str(lab)))
    pipeline = load_pipeline(path)
    assert (pipeline.name, pipeline.sources[0].layout, pipeline.sources[0].uri) == ("lab", "prompt_response", str(lab))
    assert pipeline.destination_path == tmp_path / "lab-unified"


def test_nothing_is_hashed(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StatIndex, "digest", lambda *_: pytest.fail("a file is hashed"))
    assert len(describe(str(lab)).columns) == 4


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceMissingError):
        describe(str(tmp_path / "nowhere"))
