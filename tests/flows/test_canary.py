"""A text of quarantined rows and a token of the environment are nowhere but where they belong."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollmill.flows.server import LocalServer
from tests.conftest import write_lines, write_parquet

pytestmark = [pytest.mark.flow, pytest.mark.timeout(600)]
TEXT = "canary-text-5f1d"
TOKEN = "canary-token-77aa"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    """A server of this test's own, whose database lies below tmp_path."""
    (tmp_path / "prefect").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "prefect"))
    own = LocalServer()
    try:
        yield own
    finally:
        own.stop()


def a_source(folder: Path) -> Path:
    """Rows to be put aside for many reasons, each with the canary, among good ones."""
    good = [{"prompt": f"p{i}", "response": "r", "score": 0.5, "pred": 0.5, "target": 1.0} for i in range(300)]
    bad: list[dict[str, object]] = [
        {**good[0], "prompt": TEXT, "response": ""},
        {**good[0], "prompt": TEXT, "response": TEXT, "score": None},
        {**good[0], "prompt": TEXT, "response": TEXT, "score": float("nan")},
    ]
    write_parquet(folder / "data" / "train_1.parquet", pa.Table.from_pylist(good + bad))
    lines: list[dict[str, object] | bytes] = [
        *good,
        b'{"prompt": "' + TEXT.encode(),
        b'{"prompt": "%s", "prompt": "x"}' % TEXT.encode(),
    ]
    write_lines(folder / "data" / "train_2.jsonl", lines)
    (folder / "README.md").write_text(f"---\nlicense: mit\n---\n{TEXT} in prose\n")
    return folder


def run(tmp_path: Path, url: str) -> str:
    """Run with all that can be told told, and once more with a limit that refuses. Gives what was said."""
    environment = os.environ | {
        "PREFECT_API_URL": url,
        "PREFECT_HOME": str(tmp_path / "home"),
        "PREFECT_LOGGING_LEVEL": "DEBUG",
        "HF_TOKEN": TOKEN,
        "AWS_SECRET_ACCESS_KEY": TOKEN,
        "ROLLMILL_DEBUG": "1",
    }
    said = ""
    for limit, code in (("0.0", 3), ("0.05", 0)):
        places = ["--to", str(tmp_path / "out"), "--store", str(tmp_path / "store")]
        options = ["--max-quarantine", limit, "--json", str(tmp_path / "report.json")]
        command = [sys.executable, "-m", "rollmill.cli", "run", str(tmp_path / "lab"), *places, *options]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        said += done.stdout + done.stderr
    return said


def files_with(word: str, root: Path) -> list[Path]:
    """List the files that hold a word, Parquet files by what they say."""
    return [path for path in sorted(root.rglob("*")) if path.is_file() and word in content(path)]


def content(path: Path) -> str:
    data = path.read_bytes()
    return str(pq.read_table(path).to_pylist()) if data[:4] == b"PAR1" else data.decode("latin-1")


def is_quarantine(path: Path) -> bool:
    return "source_digest" in (names := pq.read_schema(path).names) and "reasons" in names


def test_nothing_tells_what_was_put_aside(tmp_path: Path, server: LocalServer) -> None:
    a_source(tmp_path / "lab")
    said = run(tmp_path, server.url())
    assert "put aside" in said
    assert TEXT not in said
    assert TOKEN not in said
    assert list((tmp_path / "prefect").rglob("prefect.db")), "the database is where it is looked for"
    for folder in ("out", "prefect", "home"):
        assert files_with(TEXT, tmp_path / folder) == [], folder
    holding = files_with(TEXT, tmp_path / "store")
    assert holding
    assert all(path.parent.name == "objects" and is_quarantine(path) for path in holding)
    assert files_with(TOKEN, tmp_path) == []
    assert TEXT not in content(tmp_path / "report.json")
