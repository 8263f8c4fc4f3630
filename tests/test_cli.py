"""What the commands that look at things print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rollmill.cli import _exit_code
from tests.conftest import Mill, Milled, write_lines


@pytest.fixture
def milled(mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Milled:
    """A dataset `mill/dest`, made of `lab`; the working folder is theirs."""
    records = [{"prompt": "what?", "response": answer} for answer in ("this", "that", "")]
    write_lines(tmp_path / "lab" / "train.jsonl", records)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return mill(tmp_path / "lab")


def said(capsys: Any, monkeypatch: pytest.MonkeyPatch, *arguments: str, code: int = 0) -> str:
    monkeypatch.setattr("sys.argv", ["rollmill", *arguments])
    capsys.readouterr()
    assert _exit_code() == code
    shown = capsys.readouterr()
    return str(shown.err if code else shown.out)


def test_a_source_is_shown_with_a_pipeline_file_to_begin_with(milled: Milled, capsys: Any, monkeypatch: Any) -> None:
    text = said(capsys, monkeypatch, "inspect", "lab")
    assert "default/train: 3 records" in text
    assert "layout prompt_response: fits" in text
    assert "layout ppo_critic: no column pred" in text
    assert "  layout: prompt_response" in text


def test_a_version_a_row_and_an_artifact_are_shown(milled: Milled, capsys: Any, monkeypatch: Any) -> None:
    version = said(capsys, monkeypatch, "inspect", "mill/dest").split()
    at = version.index("default/train")
    assert version[at : at + 4] == ["default/train", "3", "2", "1"]
    row = milled.rollouts().to_pylist()[1]
    text = said(capsys, monkeypatch, "inspect", "mill/dest", "--row", row["row_id"])
    assert "from file:lab, train.jsonl, record 1\n" in text
    assert '"content": "that"' in text
    (key,) = milled.done
    text = said(capsys, monkeypatch, "inspect", "mill/store", "--artifact", key[:12])
    assert text.startswith(f"normalize {key}\n")
    assert "quarantine: 1 rows" in text


def test_texts_can_not_speak_to_the_terminal(milled: Milled, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    write_lines(tmp_path / "evil" / "train.jsonl", [{"prompt": "\x1b[31m[bold]x", "response": "\u202e y"}])
    text = said(capsys, monkeypatch, "inspect", "evil")
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[bold]x" in text


def test_versions_are_compared_and_gone_back_to(milled: Milled, mill: Mill, capsys: Any, monkeypatch: Any) -> None:
    write_lines(
        Path("lab/train.jsonl"), [{"prompt": "what?", "response": answer} for answer in ("this", "other", "new")]
    )
    mill(Path("lab").absolute())
    assert said(capsys, monkeypatch, "diff", "mill/dest", "1", "2").split()[-8:] == [
        *("lab", "default", "train"),
        *("2", "3", "1", "0", "1"),
    ]
    assert said(capsys, monkeypatch, "rollback", "mill/dest").startswith("version 1 ")
    assert "*    1 " in said(capsys, monkeypatch, "status", "mill/dest")
    assert said(capsys, monkeypatch, "rollback", "mill/dest", "2").startswith("version 2 ")
    assert "no version 9" in said(capsys, monkeypatch, "rollback", "mill/dest", "9", code=4)


def test_damage_is_told_with_an_exit_code(milled: Milled, capsys: Any, monkeypatch: Any) -> None:
    assert "0 " not in said(capsys, monkeypatch, "verify", "mill/dest").split(" files")[0]
    path = milled.destination.data_path(milled.version.files[0])
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert f"damaged {milled.version.files[0].path}: " in said(capsys, monkeypatch, "verify", "mill/dest", code=3)


def test_what_would_be_pruned_is_told(milled: Milled, capsys: Any, monkeypatch: Any) -> None:
    told = said(capsys, monkeypatch, "prune", "--store", "mill/store", "--grace", "0", "--dry-run")
    assert "would be deleted" in told
    done = said(capsys, monkeypatch, "prune", "--store", "mill/store", "--grace", "0")
    assert done == told.replace("would be deleted", "deleted")
    assert said(capsys, monkeypatch, "prune", "--store", "mill/store").startswith("0 artifacts, 0 payloads")
