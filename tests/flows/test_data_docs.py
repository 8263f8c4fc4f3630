"""Every run names its Data Docs: published, unchanged and refused ones."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollmill.errors import QuarantineLimitError
from tests.flows.test_pipeline import build

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_url")]


def test_a_run_names_its_data_docs_and_so_does_one_with_nothing_to_do(source: Path, tmp_path: Path) -> None:
    first, again = build(source, tmp_path), build(source, tmp_path)
    assert again.verdict == "unchanged"
    assert first.data_docs == again.data_docs
    index = Path(first.data_docs or "")
    assert index.is_relative_to(tmp_path / "store" / "docs" / "lab")
    assert "33 records" in index.read_text()
    kept = next((tmp_path / "dataset" / "versions").glob("1-*/report.json"))
    assert "store" not in kept.read_text()


def test_a_refused_run_names_them_too(tmp_path: Path) -> None:
    (tmp_path / "lab").mkdir()
    table = pa.table({"prompt": [f"{i}?" for i in range(60)], "response": [""] * 30 + ["x"] * 30})
    pq.write_table(table, tmp_path / "lab" / "train.parquet")
    with pytest.raises(QuarantineLimitError) as refusal:
        build(tmp_path / "lab", tmp_path)
    report = refusal.value.report  # type: ignore[attr-defined]
    assert "60 records,\n30 of them with a reason" in Path(report.data_docs).read_text()
