"""Records put aside, seen in a published version and in the verdicts of a run that never was one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollmill import reading, shards
from rollmill.aside import JudgedAside, PublishedAside, Selection, counts, export
from rollmill.aside.index import INDEX, Aside
from rollmill.errors import AccessError, ConfigError, QuarantineLimitError
from rollmill.sources.index import StatIndex
from rollmill.store import FolderStore
from tests.conftest import Mill, Milled, write_lines, write_parquet

PLACES = ["source", "config", "split", "file", "record", "reason"]
FOUND = [
    ("lab", "default", "test", "test.parquet", 0, "reward_not_finite"),
    ("lab", "default", "test", "test.parquet", 2, "empty_response"),
    ("lab", "default", "train", "train-0.jsonl", 0, "empty_response"),
    ("lab", "default", "train", "train-0.jsonl", 2, "bad_json"),
    ("lab", "default", "train", "train-0.jsonl", 3, "empty_response"),
    ("lab", "default", "train", "train-1.jsonl", 1, "empty_response"),
    ("other", "default", "train", "train.jsonl", 0, "empty_response"),
]


@pytest.fixture
def sources(tmp_path: Path) -> tuple[Path, Path]:
    """Two sources whose good and bad records lie in several files, one of them twice."""
    lab, other = tmp_path / "lab", tmp_path / "other"
    rewards = [float("nan"), 1.0, None]
    write_parquet(lab / "test.parquet", {"prompt": ["q", "r", "s"], "response": ["a", "b", " "], "reward": rewards})
    lines: list[Any] = [{"prompt": "a", "response": ""}, {"prompt": "b", "response": "x"}, b'{"prompt": "c"']
    write_lines(lab / "train-0.jsonl", [*lines, {"prompt": "d", "response": None, "tags": [1]}])
    write_lines(lab / "train-1.jsonl", [{"prompt": "e", "response": "f"}, {"prompt": "g", "response": "\t"}])
    write_lines(other / "train.jsonl", [{"prompt": "h", "response": ""}, {"prompt": "i", "response": "j"}])
    return lab, other


@pytest.fixture
def milled(mill: Mill, sources: tuple[Path, Path]) -> Milled:
    return mill(*sources)


def published(milled: Milled) -> Aside:
    return PublishedAside(milled.version, milled.store)


def judged(milled: Milled) -> Aside:
    return JudgedAside(milled.plan, milled.store, StatIndex(milled.store.stat_index).digest)


BOTH = pytest.mark.parametrize("view", [published, judged])


def records(aside: Aside, chosen: pl.DataFrame) -> list[dict[str, Any]]:
    found = [record for table in aside.records(chosen) for record in table.to_pylist()]
    return sorted(found, key=lambda r: (r["source"], r["split"], r["file"], r["source_row"]))


@BOTH
def test_the_index_has_every_record_with_its_place_and_all_reasons(milled: Milled, view: Any) -> None:
    index = view(milled).index
    assert index.schema == INDEX
    assert index.select(PLACES).rows() == FOUND
    assert index["reasons"].to_list()[1] == ["empty_response", "reward_missing"]


@BOTH
def test_counts_stand_by_source_split_file_and_reason(milled: Milled, view: Any) -> None:
    counted = counts(view(milled).index)
    assert counted.columns == ["source", "config", "split", "file", "reason", "records"]
    assert counted.filter(file="train-0.jsonl").select("reason", "records").rows() == [
        ("empty_response", 2),
        ("bad_json", 1),
    ]
    assert counted["records"].sum() == milled.version.total.rows_quarantined


@BOTH
@pytest.mark.parametrize("size", ["whole", "small"])
def test_records_are_read_with_their_columns(
    milled: Milled, view: Any, size: str, monkeypatch: pytest.MonkeyPatch, mill: Mill, sources: tuple[Path, Path]
) -> None:
    if size == "small":
        monkeypatch.setattr(shards, "ROW_GROUP_ROWS", 1)
        monkeypatch.setattr(reading, "BATCH_BYTES", 1)
        milled = Mill(mill.root / "small")(*sources)
    aside = view(milled)
    found = records(aside, aside.index)
    assert [(r["source"], r["config"], r["split"], r["file"], r["source_row"], r["reason"]) for r in found] == FOUND
    assert found[1]["row"] == {"prompt": "s", "response": " ", "reward": None}
    assert found[4]["row"] == {"prompt": "d", "response": None, "tags": "[1]"}
    assert (found[3]["row"], found[3]["raw"]) == (None, b'{"prompt": "c"\n')
    assert "line 3" in found[3]["detail"]
    some = records(aside, aside.index.filter(pl.col("record") == 0, source="lab"))
    assert [r["file"] for r in some] == ["test.parquet", "train-0.jsonl"]


@BOTH
def test_a_selection_takes_any_of_the_reasons(milled: Milled, view: Any) -> None:
    index = view(milled).index
    assert Selection(reason="reward_missing").of(index).select("file", "record").rows() == [("test.parquet", 2)]
    assert Selection(source="lab", split="train", reason="empty_response").of(index)["record"].to_list() == [0, 3, 1]
    assert Selection(config="default").of(index).equals(index)


def test_a_selection_of_what_is_not_there_names_what_is(milled: Milled) -> None:
    index = published(milled).index
    with pytest.raises(ConfigError, match=r"split 'dev'.*test, train"):
        Selection(split="dev").of(index)
    with pytest.raises(ConfigError, match=r"reason 'bad_jsn'.*bad_json, empty_response"):
        Selection(reason="bad_jsn").of(index)
    assert Selection(split="dev").of(index.clear()).is_empty()


def test_kept_records_are_not_among_those_put_aside(mill: Mill, sources: tuple[Path, Path]) -> None:
    lab, other = sources
    milled = mill({"uri": str(lab), "keep": ["empty_response"]}, other)
    for view in (published, judged):
        left = view(milled).index.filter(source="lab").select("record", "reason").rows()
        assert left == [(0, "reward_not_finite"), (2, "empty_response"), (2, "bad_json")]


def test_why_a_run_was_refused_can_be_seen(mill: Mill, tmp_path: Path) -> None:
    lab = write_lines(tmp_path / "lab" / "train.jsonl", [{"prompt": "a", "response": ""}] * 3).parent
    with pytest.raises(QuarantineLimitError):
        mill(lab, validation={})
    store = FolderStore(mill.root / "store")
    aside = JudgedAside(mill.plan(lab), store, StatIndex(store.stat_index).digest)
    assert (aside.unjudged, aside.index["record"].to_list()) == (0, [0, 1, 2])
    assert [record["row"]["prompt"] for record in records(aside, aside.index.head(2))] == ["a", "a"]


def test_units_that_were_not_judged_are_counted(mill: Mill, sources: tuple[Path, Path]) -> None:
    store = FolderStore(mill.root / "store")
    aside = JudgedAside(mill.plan(*sources), store, StatIndex(store.stat_index).digest)
    assert (aside.unjudged, aside.index.height) == (3, 0)


def test_a_store_without_the_records_is_told(milled: Milled, tmp_path: Path) -> None:
    with pytest.raises(AccessError, match="--store"):
        PublishedAside(milled.version, FolderStore(tmp_path / "empty"))


@BOTH
def test_whole_records_are_exported(milled: Milled, view: Any, tmp_path: Path) -> None:
    aside = view(milled)
    assert export(aside, aside.index, tmp_path / "all.parquet") == 7
    table = pq.read_table(tmp_path / "all.parquet")
    assert table.column_names[:6] == ["source", "config", "split", "file", "source_row", "reason"]
    rows = {(row["source"], row["file"], row["source_row"]): row for row in table.to_pylist()}
    assert rows["lab", "train-0.jsonl", 3]["row"] == {"prompt": "d", "response": None, "reward": None, "tags": "[1]"}
    assert str(rows["lab", "test.parquet", 0]["row"]["reward"]) == "nan"
    assert rows["lab", "train-0.jsonl", 2]["row"] is None
    assert export(aside, aside.index.filter(reason="bad_json"), tmp_path / "some.jsonl") == 1
    (line,) = pl.read_ndjson(tmp_path / "some.jsonl").to_dicts()
    assert bytes.fromhex(line["raw"]) == b'{"prompt": "c"\n'
    assert list(tmp_path.glob("*.partial")) == []


def test_an_export_in_another_format_is_refused(milled: Milled, tmp_path: Path) -> None:
    aside = published(milled)
    with pytest.raises(ConfigError, match=r"\.parquet or \.jsonl"):
        export(aside, aside.index, tmp_path / "all.csv")


def test_a_file_in_two_splits_is_told_twice(mill: Mill, tmp_path: Path) -> None:
    rows = {"prompt": ["a", "b"], "response": ["x", ""]}
    for name in ("train", "test"):
        write_parquet(tmp_path / "lab" / f"{name}.parquet", rows)
    milled = mill(tmp_path / "lab")
    for view in (published, judged):
        assert view(milled).index.select("split", "file", "record").rows() == [
            ("test", "test.parquet", 1),
            ("train", "train.parquet", 1),
        ]


def test_many_records_are_counted_and_shown_at_once(mill: Mill, tmp_path: Path) -> None:
    """100,000 of them: the index takes no Python per record."""
    count = 100_000
    rows = {"prompt": pa.array([f"{i}" for i in range(count)]), "response": pa.array(["x", *[""] * (count - 1)])}
    write_parquet(tmp_path / "lab" / "train.parquet", rows)
    milled = mill(tmp_path / "lab")
    for view in (published, judged):
        start = time.perf_counter()
        aside = view(milled)
        assert counts(aside.index)["records"].to_list() == [count - 1]
        assert len(records(aside, aside.index.head(10))) == 10
        assert time.perf_counter() - start < 2
