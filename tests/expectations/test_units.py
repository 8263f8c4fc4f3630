from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rollmill import reading
from rollmill.errors import FileRefusedError
from rollmill.expectations.units import validate_unit
from rollmill.plan import UnitPlan
from rollmill.sources.index import StatIndex
from rollmill.store import FolderStore
from rollmill.verdicts import Verdict, load_verdict
from tests.conftest import Mill, write_lines, write_parquet


def verdict(mill: Mill, unit: UnitPlan) -> Verdict:
    store = FolderStore(mill.root / "store")
    return load_verdict(store, validate_unit(unit, store, StatIndex(store.stat_index).digest).manifest)


def test_bad_records_are_found_by_part_and_record_number(mill: Mill, tmp_path: Path) -> None:
    write_parquet(tmp_path / "lab" / "train-0.parquet", {"prompt": ["a"] * 3, "response": ["b", " ", "c"]})
    lines: list[Any] = [
        b'{"prompt": "a"',
        {"prompt": "a", "response": "x"},
        b'{"a": 1, "a": 2}',
        {"prompt": "a", "response": ""},
    ]
    write_lines(tmp_path / "lab" / "train-1.jsonl", lines)
    found = verdict(mill, mill.plan(tmp_path / "lab").units[0])
    assert found.bad == {
        0: {1: ("empty_response",)},
        1: {0: ("bad_json",), 2: ("duplicate_key",), 3: ("empty_response",)},
    }
    assert found.read == {0: 3, 1: 4}


@pytest.mark.parametrize("size", [1, 16 << 20])
def test_the_verdict_does_not_depend_on_batches(
    mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(reading, "BATCH_BYTES", size)
    rows = {"prompt": ["a"] * 5, "response": ["", "x", None, "y", "\n"], "reward": [1.0, None, 2.0, float("nan"), None]}
    write_parquet(tmp_path / "lab" / "train.parquet", rows)
    assert verdict(mill, mill.plan(tmp_path / "lab").units[0]).bad == {
        0: {
            0: ("empty_response",),
            1: ("reward_missing",),
            2: ("empty_response",),
            3: ("reward_not_finite",),
            4: ("empty_response", "reward_missing"),
        }
    }


def test_a_unit_that_was_judged_is_not_read_again(mill: Mill, tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "lab" / "train.parquet", {"prompt": ["a"], "response": [""]})
    unit = mill.plan(tmp_path / "lab").units[0]
    store = FolderStore(mill.root / "store")
    index = StatIndex(store.stat_index)
    first = validate_unit(unit, store, index.digest)
    path.unlink()
    again = validate_unit(unit, store, index.digest)
    assert (first.cached, again.cached, again.bytes_read) == (False, True, 0)
    assert first.bytes_read > 0
    assert again.manifest == first.manifest


def test_findings_are_kept_without_text(mill: Mill, tmp_path: Path) -> None:
    write_parquet(tmp_path / "lab" / "train.parquet", {"prompt": ["CANARY", "CANARY"], "response": ["x", ""]})
    unit = mill.plan(tmp_path / "lab").units[0]
    store = FolderStore(mill.root / "store")
    facts = validate_unit(unit, store, StatIndex(store.stat_index).digest).manifest.facts
    found = [f for f in facts["findings"] if f["reason"] == "empty_response" and not f["success"]]
    assert [(f["column"], f["unexpected"], f["element_count"]) for f in found] == [("response", 1, 2)]
    assert facts["result"]["name"] == "lab/default/train#0"
    assert "CANARY" not in str(facts)


@pytest.mark.parametrize("line", [b'{"prompt": "x"', b'{"prompt": "only"}', b'{"other": 1}'])
def test_a_file_without_a_needed_column_is_judged_alike_alone_and_among_others(
    mill: Mill, tmp_path: Path, line: bytes
) -> None:
    """Whether such a file shares its unit must not decide whether the run is refused."""
    write_parquet(
        tmp_path / "lab" / "train-0.parquet",
        {"prompt": ["a"] * 3, "response": ["b" * 600_000 + str(i) for i in range(3)]},
        use_dictionary=False,
    )
    write_lines(tmp_path / "lab" / "train-1.jsonl", [line])
    alone = mill.plan(tmp_path / "lab", unit_bytes=1 << 20).units
    together = mill.plan(tmp_path / "lab").units
    assert (len(alone), len(together)) == (2, 1)
    assert verdict(mill, alone[1]).bad[0] == verdict(mill, together[0]).bad[1]


def test_what_goes_wrong_with_reading_is_told_as_it_is(mill: Mill, tmp_path: Path) -> None:
    """Great Expectations takes any error for one of its metrics."""
    path = write_parquet(tmp_path / "lab" / "train.parquet", {"prompt": ["a"], "response": ["b"]})
    unit = mill.plan(tmp_path / "lab").units[0]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileRefusedError, match=r"train\.parquet") as caught:
        verdict(mill, unit)
    assert caught.value.file == "train.parquet"


def test_values_that_drifted_columns_cannot_hold_are_named(mill: Mill, tmp_path: Path) -> None:
    rows = {"prompt": ["a"], "response": ["b"]}
    write_parquet(tmp_path / "lab" / "train-0.parquet", {**rows, "reward": pa.array([2**60 + 1])})
    write_parquet(tmp_path / "lab" / "train-1.parquet", {**rows, "reward": [0.5]})
    with pytest.raises(FileRefusedError, match="reward") as caught:
        verdict(mill, mill.plan(tmp_path / "lab").units[0])
    assert (caught.value.file, caught.value.column) == ("train-0.parquet", "reward")
