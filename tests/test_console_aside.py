"""`rollmill inspect --quarantine`, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rollmill.cli import _exit_code
from rollmill.errors import QuarantineLimitError
from tests.conftest import Mill, write_lines

LINES: list[Any] = [
    {"prompt": "1+1?", "response": "2"},
    {"prompt": "\x1b[2J\u202egnihton [red]", "response": " "},
    {"prompt": "long " * 100, "response": None, "meta": {"a": [1]}},
    b'{"prompt": "3+3?\xff',
]


@pytest.fixture
def place(mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a source `lab`, its dataset `dest` and the store `store`."""
    write_lines(tmp_path / "lab" / "train.jsonl", LINES)
    Mill(tmp_path)(tmp_path / "lab")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str, code: int = 0) -> str:
    monkeypatch.setattr("sys.argv", ["rollmill", *arguments])
    capsys.readouterr()
    assert _exit_code() == code
    shown = capsys.readouterr()
    return shown.err if code else shown.out


@pytest.mark.parametrize("what", ["dest", "lab", "pipeline.yaml"])
def test_counts_and_records_are_shown_alike_of_dataset_source_and_pipeline_file(
    place: Path, capsys: Any, monkeypatch: Any, what: str
) -> None:
    (place / "pipeline.yaml").write_text("name: mill\nsources: [{uri: lab}]\ndestination: dest\nstore: store\n")
    text = said(capsys, monkeypatch, "inspect", what, "--quarantine", "--store", "store")
    assert text.splitlines()[0] == "3 records put aside"
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "lab default train train.jsonl empty_response 2" in lines
    assert "lab/default/train train.jsonl record 2: empty_response" in lines
    assert r'prompt "\u001b[2J\u202egnihton [red]"' in lines, "nothing that a terminal obeys"
    assert "\x1b" not in text
    assert "… (502 characters)" in text
    assert r'(bytes) "{\"prompt\": \"3+3?\\xff\n"' in lines
    assert text.index("record 1:") < text.index("record 2:") < text.index("record 3:")


def test_records_are_selected_and_limited(place: Path, capsys: Any, monkeypatch: Any) -> None:
    base = ("inspect", "dest", "--quarantine", "--store", "store")
    text = said(capsys, monkeypatch, *base, "--reason", "empty_response", "--limit", "1")
    assert "2 records put aside" in text
    assert "and 1 records more" in text
    assert "record 2" not in text


def test_json_and_export_hold_whole_records(place: Path, capsys: Any, monkeypatch: Any) -> None:
    base = ("inspect", "dest", "--quarantine", "--store", "store")
    found = json.loads(said(capsys, monkeypatch, *base, "--json", "-", "--limit", "2"))
    assert found["records"] == 3
    assert found["counts"][0] == {
        "source": "lab", "config": "default", "split": "train", "file": "train.jsonl", "reason": "empty_response",
        "records": 2,
    }  # fmt: skip
    assert [record["source_row"] for record in found["shown"]] == [1, 2]
    assert found["shown"][1]["row"]["prompt"] == "long " * 100
    said(capsys, monkeypatch, *base, "--out", "aside.parquet")
    assert pl.read_parquet("aside.parquet")["source_row"].sort().to_list() == [1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("dest", "lab"), 2, "--quarantine"),
        (("dest", "--quarantine", "--store", "store", "--split", "dev"), 2, "split 'dev'"),
        (("dest", "--quarantine", "--store", "store", "--out", "x.csv"), 2, ".parquet or .jsonl"),
        (("dest", "--quarantine", "--store", "other"), 4, "--store"),
        (("nowhere", "--quarantine", "--store", "store"), 4, "nowhere"),
    ],
)
def test_mistakes_are_told(
    place: Path, capsys: Any, monkeypatch: Any, arguments: tuple[str, ...], code: int, word: str
) -> None:
    assert word in said(capsys, monkeypatch, "inspect", *arguments, code=code)


def test_a_refused_run_shows_why(mill: Mill, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    write_lines(tmp_path / "lab" / "train.jsonl", LINES[1:3])
    with pytest.raises(QuarantineLimitError):
        Mill(tmp_path)(tmp_path / "lab", validation={})
    monkeypatch.chdir(tmp_path)
    assert "record 1: empty_response" in said(capsys, monkeypatch, "inspect", "lab", "--quarantine", "--store", "store")
