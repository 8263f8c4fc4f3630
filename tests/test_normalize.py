from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from rollmill import reading
from rollmill.errors import ConservationError, FileRefusedError
from rollmill.normalize import STAGE, normalize_unit
from rollmill.schema import SCHEMA
from rollmill.sources.index import StatIndex
from rollmill.store import FolderStore
from rollmill.verdicts import Verdict
from tests.conftest import Mill, Milled, write_lines, write_parquet

GOOD: list[dict[str, Any]] = [{"prompt": "a", "response": "b"}, {"prompt": None, "response": "c"}]
BAD: list[dict[str, Any]] = [
    {"prompt": "CANARY", "response": ""},
    {"prompt": "CANARY", "response": None},
    {"prompt": "CANARY", "response": " \t"},
    {"prompt": "CANARY"},
]
UNREADABLE = [
    b'{"prompt": "CANARY", "resp',
    b'{"prompt": "CANARY", "prompt": "other"}',
    b'{"prompt": "CANARY\xff", "resp',
]
RECORDS = st.sampled_from([*GOOD, *BAD, *UNREADABLE])


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(RECORDS, max_size=6), max_size=3))
def test_rows_in_are_rows_published_and_rows_put_aside(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[Any]]
) -> None:
    """Over any mixture of good, bad and unreadable records, cut into files in any way."""
    root = tmp_path_factory.mktemp("mix")
    write_lines(root / "lab" / "train-0.jsonl", [*GOOD, BAD[0]])
    for number, records in enumerate(files, start=1):
        write_lines(root / "lab" / f"train-{number}.jsonl", records)
    milled = Mill(root)(root / "lab")
    everything = [*GOOD, BAD[0], *(record for records in files for record in records)]
    good = sum(record in GOOD for record in everything)
    total = milled.version.total
    assert (total.rows_in, total.rows_published, total.rows_quarantined) == (
        len(everything),
        good,
        len(everything) - good,
    )
    assert len(milled.rollouts()) == total.rows_written == good
    assert len(milled.quarantined()) == total.rows_quarantined == sum(milled.report.reasons.values())


@pytest.fixture
def mixed(mill: Mill, tmp_path: Path) -> Milled:
    """Good, bad and unreadable records in turn."""
    good = [record | {"reward": 1} for record in GOOD]
    records: list[Any] = [good[0], BAD[0], good[1], UNREADABLE[0], BAD[1] | {"reward": 2}, UNREADABLE[1], UNREADABLE[2]]
    write_lines(tmp_path / "lab" / "train.jsonl", records)
    return mill(tmp_path / "lab")


def test_quarantine_holds_the_whole_record_its_place_and_reasons(mixed: Milled) -> None:
    digest = mixed.plan.sources[0].ingested.snapshot.files[0].sha256
    rows = sorted(mixed.quarantined(), key=lambda row: int(row["source_row"]))
    assert [(row["source_row"], row["reason"]) for row in rows] == [
        (1, "empty_response"),
        (3, "bad_json"),
        (4, "empty_response"),
        (5, "duplicate_key"),
        (6, "invalid_utf8"),
    ]
    assert {row["source_digest"] for row in rows} == {digest}
    assert rows[0]["row"] == {"prompt": "CANARY", "response": "", "reward": None}
    assert rows[0]["reasons"] == ["empty_response", "reward_missing"]
    assert rows[2]["row"] == {"prompt": "CANARY", "response": None, "reward": 2}
    assert [row["raw"].rstrip(b"\n") for row in (rows[1], rows[3], rows[4])] == UNREADABLE


def test_quarantined_text_is_nowhere_but_in_the_quarantine(mixed: Milled) -> None:
    manifests = [path.read_bytes() for path in (mixed.store.root / "artifacts").rglob("*.json")]
    published = [path.read_bytes() for path in mixed.destination.path.rglob("*") if path.is_file()]
    assert len(manifests) == 4
    assert not any(b"CANARY" in data for data in (*manifests, *published))
    assert "CANARY" not in str(mixed.rollouts().to_pylist())
    assert "CANARY" not in str([manifest.facts for manifest in (*mixed.verdicts.values(), *mixed.done.values())])
    assert "CANARY" in str(mixed.quarantined())


def test_shards_have_the_unified_schema_and_lineage(mixed: Milled) -> None:
    path = mixed.destination.data_path(mixed.version.files[0])
    assert pq.read_schema(path).equals(SCHEMA)
    rows = mixed.rollouts().to_pylist()
    assert [(row["source_row"], row["data_source"], row["source_split"]) for row in rows] == [
        (0, "lab", "train"),
        (2, "lab", "train"),
    ]


def test_bytes_do_not_depend_on_the_size_of_batches(
    mixed: Milled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BATCH_BYTES", 1)
    other = Mill(tmp_path / "other")(tmp_path / "lab")
    assert other.rollouts().equals(mixed.rollouts())
    assert [file.sha256 for file in other.version.files] == [file.sha256 for file in mixed.version.files]
    by_row = [sorted(milled.quarantined(), key=lambda row: int(row["source_row"])) for milled in (mixed, other)]
    assert by_row[0] == by_row[1]


def work(mill: Mill, folder: Path) -> tuple[Any, FolderStore, StatIndex]:
    plan = mill.plan(folder)
    store = FolderStore(plan.pipeline.store_path)
    return plan.units[0], store, StatIndex(store.stat_index)


def test_a_unit_that_is_done_is_not_read_again(mill: Mill, mixed: Milled, tmp_path: Path) -> None:
    unit, store, index = work(mill, tmp_path / "lab")
    (tmp_path / "lab" / "train.jsonl").unlink()
    again = normalize_unit(unit, Verdict(), store, index.digest)
    assert (again.cached, again.bytes_read) == (True, 0)
    assert again.manifest == mixed.done[unit.normalize_key]


def test_a_verdict_that_does_not_fit_the_records_is_refused(mill: Mill, tmp_path: Path) -> None:
    write_lines(tmp_path / "lab" / "train.jsonl", GOOD)
    unit, store, index = work(mill, tmp_path / "lab")
    with pytest.raises(ConservationError, match=r"lab/default/train#0.* 2 records in"):
        normalize_unit(unit, Verdict(bad={0: {7: ("empty_response",)}}), store, index.digest)
    assert store.get(STAGE, unit.normalize_key) is None
    assert list((store.root / "scratch").iterdir()) == []


def test_a_file_that_changes_leaves_no_artifact_and_no_noise(mill: Mill, tmp_path: Path) -> None:
    write_parquet(tmp_path / "lab" / "train.parquet", {"prompt": ["a"], "response": ["b"]})
    unit, store, index = work(mill, tmp_path / "lab")
    write_parquet(tmp_path / "lab" / "train.parquet", {"prompt": ["a"], "response": ["B"]})
    with pytest.raises(FileRefusedError, match="changed while reading"):
        normalize_unit(unit, Verdict(), store, index.digest)
    gc.collect()
    assert store.get(STAGE, unit.normalize_key) is None
    assert list((store.root / "scratch").iterdir()) == []
    assert list((store.root / "objects").iterdir()) == []


def test_a_unit_of_bad_records_only_has_no_shard(mill: Mill, tmp_path: Path) -> None:
    write_lines(tmp_path / "lab" / "train.jsonl", GOOD)
    write_lines(tmp_path / "lab" / "test.jsonl", BAD)
    milled = mill(tmp_path / "lab")
    manifest = next(milled.done[unit.normalize_key] for unit in milled.plan.units if unit.unit.split == "test")
    assert [payload.name for payload in manifest.payloads] == ["quarantine"]
    assert manifest.facts["reasons"] == {"empty_response": 4}
