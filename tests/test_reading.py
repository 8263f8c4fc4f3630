from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rollmill import reading
from rollmill.errors import FileRefusedError
from rollmill.plan import UnitPlan
from rollmill.reading import UnitReader
from rollmill.sources.index import StatIndex
from tests.conftest import Mill, write_lines, write_parquet

ROWS = {"prompt": [f"p{i}" for i in range(40)], "response": [f"r{i}" for i in range(40)]}


def reader(unit: UnitPlan) -> UnitReader:
    return UnitReader(unit.unit, unit.inspections, StatIndex(Path("/nowhere/index")).digest)


def records(unit: UnitReader) -> list[tuple[int, int, str]]:
    """Give (part, record number, response) in the order of reading, rejects as their reason."""
    found = []
    for batch in unit:
        texts = batch.records.data.column("response").to_pylist()
        rows = [
            *zip(batch.records.rows.to_pylist(), texts, strict=True),
            *((reject.row, reject.reason) for reject in batch.records.rejects),
        ]
        found += [(batch.part_index, row, text) for row, text in sorted(rows)]
    return found


def test_the_parts_of_a_unit_are_read_in_order_with_the_files_record_numbers(mill: Mill, tmp_path: Path) -> None:
    write_parquet(tmp_path / "lab" / "train-0.parquet", ROWS, row_group_size=10)
    lines: list[Any] = [{"prompt": "a", "response": "x"}, b'{"prompt": ', {"prompt": "a", "response": "z"}]
    write_lines(tmp_path / "lab" / "train-1.jsonl", lines)
    unit = reader(mill.plan(tmp_path / "lab").units[0])
    wanted = [(0, i, f"r{i}") for i in range(40)] + [(1, 0, "x"), (1, 1, "bad_json"), (1, 2, "z")]
    assert records(unit) == wanted
    once = unit.bytes_read
    assert records(unit) == wanted, "may be read again"
    assert unit.bytes_read == 2 * once
    assert once >= (tmp_path / "lab" / "train-1.jsonl").stat().st_size


def test_a_range_of_row_groups_keeps_the_files_record_numbers(mill: Mill, tmp_path: Path) -> None:
    texts = [f"{i}-" + "x" * 70_000 for i in range(40)]
    write_parquet(
        tmp_path / "lab" / "train.parquet", {**ROWS, "response": texts}, row_group_size=10, use_dictionary=False
    )
    units = mill.plan(tmp_path / "lab", unit_bytes=1 << 20).units
    assert len(units) > 1
    found = [record for unit in units for record in records(reader(unit))]
    assert [(row, text) for _, row, text in found] == list(enumerate(texts))


def test_batches_are_bounded(mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BATCH_BYTES", 64 << 10)
    texts = [f"{i}-" + "x" * 10_000 for i in range(40)]
    write_parquet(tmp_path / "lab" / "train-0.parquet", {**ROWS, "response": texts})
    write_lines(tmp_path / "lab" / "train-1.jsonl", [{"prompt": "a", "response": text} for text in texts])
    batches = [batch.records.data for batch in reader(mill.plan(tmp_path / "lab").units[0])]
    assert len(batches) > 10
    assert max(batch.get_total_buffer_size() for batch in batches[-10:]) < 4 * (64 << 10)
    assert max(batch.num_rows for batch in batches) < 20


def test_a_file_that_changed_since_the_plan_is_refused_by_name(mill: Mill, tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "lab" / "train-0.parquet", ROWS)
    unit = mill.plan(tmp_path / "lab").units[0]
    write_parquet(path, {**ROWS, "response": [f"R{i}" for i in range(40)]})
    with pytest.raises(FileRefusedError, match="changed while reading") as caught:
        records(reader(unit))
    assert caught.value.file == "train-0.parquet"


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_a_file_that_lost_records_is_refused_by_name(mill: Mill, tmp_path: Path, ending: str) -> None:
    def write(table: pa.Table) -> None:
        path = tmp_path / "lab" / f"train.{ending}"
        write_parquet(path, table) if ending == "parquet" else write_lines(path, table.to_pylist())

    write(pa.table(ROWS))
    unit = mill.plan(tmp_path / "lab").units[0]
    write(pa.table(ROWS).slice(0, 39))
    with pytest.raises(FileRefusedError, match="changed while reading") as caught:
        records(UnitReader(unit.unit, unit.inspections, lambda _: unit.unit.parts[0].file.sha256))
    assert caught.value.file == f"train.{ending}"


def test_a_file_that_is_gone_is_refused_by_name(mill: Mill, tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "lab" / "train-0.parquet", ROWS)
    unit = mill.plan(tmp_path / "lab").units[0]
    path.unlink()
    with pytest.raises(FileRefusedError, match=r"train-0\.parquet"):
        records(reader(unit))
