from __future__ import annotations

import json
from pathlib import Path

import pytest

from rollmill.errors import FileRefusedError, QuarantineLimitError
from rollmill.report import STAGES, Report, describe_declared, describe_plan, refuse
from tests.conftest import Mill, write_lines, write_parquet

CONTRACT = {
    "verdict",
    "rows_in",
    "rows_published",
    "rows_quarantined",
    "rows_dropped",
    "rows_written",
    "reasons",
    "kept",
    "error",
    "version",
    "destination",
    "stages",
    "sources",
    "declared_vs_observed",
    "dataset_checks",
    "data_docs",
    "warnings",
}
CARD = """\
---
license: mit
dataset_info:
  splits:
  - {name: train, num_examples: 4}
  - {name: test, num_examples: 9}
  - {name: validation, num_examples: 1}
---
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Train as the card says, test with fewer records, no validation; one bad record, one file passed over."""
    folder = tmp_path / "secret-place" / "lab"
    write_parquet(folder / "train-0.parquet", {"prompt": ["a", "b"], "response": ["c", ""]})
    write_parquet(folder / "train-1.parquet", {"prompt": ["e", "f"], "response": ["g", "h"]})
    write_lines(folder / "test.jsonl", [{"prompt": "a", "response": "b"}])
    (folder / "notes.txt").write_text("no data")
    (folder / "README.md").write_text(CARD)
    return folder


def test_the_json_report_has_exactly_the_keys_of_the_contract(mill: Mill, folder: Path) -> None:
    report = mill(folder).report
    for shown in (report.as_json(), report.public(1, "d"), Report("refused").as_json()):
        assert shown.keys() == CONTRACT
    assert list(report.as_json()["stages"]) == list(STAGES)
    assert all(s.keys() == {"units", "cached", "seconds", "bytes_read"} for s in report.as_json()["stages"].values())
    json.dumps(report.as_json(), allow_nan=False)


def test_a_report_counts_records_and_reasons(mill: Mill, folder: Path) -> None:
    shown = mill(folder).report.as_json()
    assert {name: count for name, count in shown.items() if name.startswith("rows_")} == {
        "rows_in": 5,
        "rows_published": 4,
        "rows_quarantined": 1,
        "rows_dropped": 0,
        "rows_written": 4,
    }
    assert shown["reasons"] == {"empty_response": 1}
    assert shown["error"] is None
    source = shown["sources"][0]
    assert source.keys() == {"name", "uri", "revision", "layout", "splits", "rollouts"}
    assert (source["name"], source["layout"], source["splits"]) == ("lab", "prompt_response@1", {"test": 1, "train": 4})
    assert len(source["revision"]) == 64


def test_reasons_add_up_over_sources(mill: Mill, folder: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "more" / "train.jsonl", [{"prompt": "a", "response": ""}, {"prompt": "a", "response": "b"}])
    report = mill(folder, tmp_path / "more").report
    assert report.reasons == {"empty_response": 2}
    assert (report.rows_in, report.rows_published, report.rows_quarantined) == (7, 5, 2)


def test_declared_numbers_stand_beside_observed_ones(mill: Mill, folder: Path) -> None:
    report = mill(folder).report
    found = {c.field: (c.source, c.file, c.declared, c.observed, c.verdict) for c in report.declared_vs_observed}
    assert found == {
        "train.num_examples": ("lab", "README.md", 4, 4, "equal"),
        "test.num_examples": ("lab", "README.md", 9, 1, "differs"),
        "validation.num_examples": ("lab", "README.md", 1, None, "missing"),
        "splits": ("lab", "README.md", 3, 2, "differs"),
    }
    warnings = "\n".join(report.warnings)
    assert "test.num_examples = 9, the files hold 1" in warnings
    assert "validation.num_examples = 1, the files hold none" in warnings
    assert "train.num_examples" not in warnings


def test_a_difference_is_told_once(mill: Mill, folder: Path) -> None:
    report, plan = Report("published"), mill.plan(folder)
    describe_plan(report, plan)
    before = list(report.warnings)
    describe_declared(report, plan)
    assert report.warnings == before


def test_records_are_told_by_config_and_split(mill: Mill, tmp_path: Path) -> None:
    write_lines(tmp_path / "lab" / "a.jsonl", [{"prompt": "a", "response": "b"}])
    write_lines(tmp_path / "lab" / "b.jsonl", [{"prompt": "c", "response": "d"}, {"prompt": "e", "response": "f"}])
    configs = "[{config_name: a, data_files: a.jsonl}, {config_name: b, data_files: b.jsonl}]"
    (tmp_path / "lab" / "README.md").write_text(f"---\nconfigs: {configs}\n---\n")
    source = mill(tmp_path / "lab").report.sources[0]
    assert (source["splits"], source["rollouts"]) == ({"a/train": 1, "b/train": 2}, 3)


def test_files_passed_over_and_harmless_changes_are_told(mill: Mill, tmp_path: Path) -> None:
    write_lines(tmp_path / "lab" / "train.jsonl", [b'{"prompt": "a\\ud800", "response": "b"}'])
    (tmp_path / "lab" / "notes.txt").write_text("no data")
    warnings = "\n".join(mill(tmp_path / "lab").report.warnings)
    assert "notes.txt was passed over" in warnings
    assert "train.jsonl: surrogates_replaced 1" in warnings


def test_what_is_published_shows_no_local_path(mill: Mill, folder: Path, tmp_path: Path) -> None:
    milled = mill(folder)
    kept = milled.destination.path / milled.destination.current().manifest  # type: ignore[union-attr]
    texts = [json.dumps(milled.report.public(3, "dd")), *(p.read_text() for p in kept.parent.iterdir())]
    texts.append((milled.destination.path / "README.md").read_text())
    for text in texts:
        assert str(tmp_path) not in text
        assert "secret-place" not in text
    public = milled.report.public(3, "dd")
    assert public["version"] == {"number": 3, "digest": "dd"}
    assert public["destination"] == ""
    assert public["sources"][0]["uri"] == "file:lab"
    assert str(tmp_path) in json.dumps(milled.report.as_json()), "the user's own report names the places"


def test_a_refused_run_says_why(mill: Mill, folder: Path) -> None:
    report = Report("published")
    describe_plan(report, mill.plan(folder))
    shown = refuse(report, FileRefusedError("x.parquet is truncated", file="x.parquet", row=3, column="c")).as_json()
    assert shown["verdict"] == "refused"
    assert shown["error"] == {
        "kind": "file_refused",
        "message": "x.parquet is truncated",
        "file": "x.parquet",
        "row": 3,
        "column": "c",
    }
    assert shown["rows_in"] == 5


def test_above_the_limit_nothing_is_published(mill: Mill, folder: Path) -> None:
    write_parquet(folder / "train-0.parquet", {"prompt": ["a"] * 60, "response": ["c"] * 50 + [" "] * 10})
    with pytest.raises(QuarantineLimitError, match="10 of 62"):
        mill(folder, validation={"max_quarantine": 0.1})
    assert not (mill.root / "dest").exists()
