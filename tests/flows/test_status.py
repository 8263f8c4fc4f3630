"""What would be made anew, and why: told from keys and file stats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rollmill import plan as planning
from rollmill.config import Pipeline
from rollmill.flows.status import VersionStatus, status, versions
from tests.conftest import Mill, Milled, write_lines


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    for split in ("train", "test"):
        write_lines(tmp_path / "lab" / f"{split}.jsonl", [{"prompt": split, "response": "r"}])
    return tmp_path / "lab"


@pytest.fixture
def milled(mill: Mill, lab: Path) -> Milled:
    return mill(lab)


def told(pipeline: Pipeline) -> dict[str, tuple[str, str]]:
    """Give state and reason per split."""
    return {one.split: (one.state, one.why) for one in status(pipeline)}


def test_nothing_published_yet(mill: Mill, lab: Path) -> None:
    assert told(mill.pipeline(lab)) == {"train": ("new", ""), "test": ("new", "")}


def test_nothing_to_do(mill: Mill, milled: Milled, lab: Path) -> None:
    assert told(mill.pipeline(lab)) == {"train": ("current", ""), "test": ("current", "")}


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every opening of a data file fail."""
    opened = Path.open

    def refuse(self: Path, *arguments: Any, **options: Any) -> Any:
        reads = "r" in (arguments[0] if arguments else options.get("mode", "r"))
        assert self.suffix != ".jsonl" or not reads, f"{self} is opened"
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)


def test_a_source_that_has_changed(mill: Mill, milled: Milled, lab: Path, unread: None) -> None:
    (lab / "test.jsonl").unlink()
    (lab / "train.jsonl").write_text('{"prompt": "other", "response": "r"}\n')
    (lab / "validation.jsonl").write_text('{"prompt": "v", "response": "r"}\n')
    assert told(mill.pipeline(lab)) == {
        "train": ("stale", "files: 1 new or changed, 1 gone or changed"),
        "validation": ("new", ""),
        "test": ("gone", ""),
    }


def test_rules_that_have_changed(mill: Mill, milled: Milled, lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "NORMALIZE_VERSION", 99)
    why = "options, expectations or the rules of a stage have changed"
    assert told(mill.pipeline(lab)) == {"train": ("stale", why), "test": ("stale", why)}


def test_sources_that_come_go_or_can_not_be_read(mill: Mill, milled: Milled, lab: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "more" / "train.jsonl", [{"prompt": "p", "response": "r"}])
    found = status(mill.pipeline(tmp_path / "more", tmp_path / "nowhere"))
    assert [(one.source, one.split, one.state) for one in found] == [
        ("more", "train", "new"),
        ("nowhere", "", "unknown"),
        ("lab", "test", "gone"),
        ("lab", "train", "gone"),
    ]
    assert "nowhere" in found[1].why


def test_versions_are_listed(mill: Mill, milled: Milled, lab: Path) -> None:
    write_lines(lab / "validation.jsonl", [{"prompt": "v", "response": "r"}] * 3)
    second = mill(lab)
    milled.destination.rollback("mill", 1)
    assert versions(milled.destination) == [
        VersionStatus(1, milled.outcome.digest, 2, current=True),
        VersionStatus(2, second.outcome.digest, 5, current=False),
    ]
