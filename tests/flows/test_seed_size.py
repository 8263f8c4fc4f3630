"""The first seed at its real size: 16,710 rows, 371 MB of text, from a command to loaded and restored rows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from rollmill.generator import PROMPT_RESPONSE_BYTES, PROMPT_RESPONSE_ROWS, write_prompt_response

pytestmark = [pytest.mark.flow, pytest.mark.slow, pytest.mark.timeout(1200)]


def run(*arguments: object) -> str:
    command = [sys.executable, "-m", "rollmill.cli", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_row_is_published_loaded_and_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_prompt_response(tmp_path / "reinforce", scale=1.0)
    original = pq.read_table(source / "data")
    size = sum(pc.sum(pc.binary_length(column)).as_py() for column in original.columns)
    assert original.num_rows == PROMPT_RESPONSE_ROWS
    assert abs(size / PROMPT_RESPONSE_BYTES - 1) < 0.02

    dest = tmp_path / "dataset"
    run("run", source, "--to", dest, "--store", tmp_path / "store", "--json", tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["rows_published"] == report["rows_written"] == PROMPT_RESPONSE_ROWS
    assert report["rows_quarantined"] == 0

    back = tmp_path / "back.parquet"
    run("restore", dest, "--source", "reinforce", "--out", back)
    assert pq.read_table(back).equals(original)
    assert pq.read_schema(back).equals(original.schema)
    _check_row_groups(dest)
    _load(dest, original, monkeypatch, tmp_path)


def _check_row_groups(dest: Path) -> None:
    for path in (dest / "data").rglob("*.parquet"):
        groups = pq.ParquetFile(path).metadata
        sizes = [groups.row_group(i).total_byte_size for i in range(groups.num_row_groups)]
        assert max(sizes) <= 34 << 20
        assert groups.num_row_groups > 1


def _load(dest: Path, original: pa.Table, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    loaded = datasets.load_dataset(str(dest), cache_dir=str(tmp_path / "cache"))
    assert {name: len(split) for name, split in loaded.items()} == {"train": PROMPT_RESPONSE_ROWS}
    completions = loaded["train"].data.column("completion").combine_chunks()
    texts = pc.struct_field(pc.list_flatten(completions), "content")
    assert pc.all(pc.equal(texts, original.column("response").combine_chunks().cast(texts.type))).as_py()
