"""The three seeds in one pipeline: steps and answers at their real sizes, the critic's 127 splits at a twentieth."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollmill.generator import PPO_CRITIC_SPLITS, write_act_prm, write_ppo_critic, write_prompt_response

pytestmark = [pytest.mark.flow, pytest.mark.slow, pytest.mark.timeout(1200)]

PIPELINE = """
name: all-seeds
sources: [{uri: steps}, {uri: critic}, {uri: reinforce}]
destination: dataset
store: store
"""


def run(*arguments: str, cwd: Path) -> None:
    command = [sys.executable, "-m", "rollmill.cli", *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def splits_in_order(folder: Path) -> list[Path]:
    numbered = {int(match[1]): path for path in folder.iterdir() if (match := re.match(r"train_(\d+)-", path.name))}
    return [numbered[number] for number in sorted(numbered)] or sorted(folder.iterdir())


def rows_of(path: Path) -> Iterator[pa.Table]:
    """Read a file a row group at a time, without what other tools noted in its schema."""
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            yield file.read_row_group(group).replace_schema_metadata(None)


def check_equal(restored: Path, originals: list[Path]) -> int:
    """Compare row by row, in order, by pyarrow alone. Returns the rows compared."""
    compared, held = 0, pa.table({})
    source = (table for path in originals for table in rows_of(path))
    for table in rows_of(restored):
        done = 0
        while done < table.num_rows:
            held = held if held.num_rows else next(source)
            count = min(held.num_rows, table.num_rows - done)
            assert table.slice(done, count).equals(held.slice(0, count)), f"row {compared}"
            held, done, compared = held.slice(count), done + count, compared + count
    assert not held.num_rows
    assert next(source, None) is None
    return compared


def test_every_row_of_every_split_is_published_and_restored_in_order(tmp_path: Path) -> None:
    sources = {
        "steps": write_act_prm(tmp_path / "steps", scale=1.0),
        "critic": write_ppo_critic(tmp_path / "critic", scale=0.05),
        "reinforce": write_prompt_response(tmp_path / "reinforce", scale=1.0),
    }
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    run("run", "pipeline.yaml", "--json", "report.json", cwd=tmp_path)
    report = json.loads((tmp_path / "report.json").read_text())
    rows = {source["name"]: source["splits"] for source in report["sources"]}
    assert len(rows["critic"]) == PPO_CRITIC_SPLITS
    assert report["rows_in"] == report["rows_published"] == sum(sum(splits.values()) for splits in rows.values())
    assert (sum(rows["steps"].values()), sum(rows["reinforce"].values())) == (10_183, 16_710)
    for name, folder in sources.items():
        run("restore", "dataset", "--source", name, "--out", f"{name}.parquet", cwd=tmp_path)
        files = splits_in_order(folder / "data")
        assert check_equal(tmp_path / f"{name}.parquet", files) == sum(rows[name].values())
