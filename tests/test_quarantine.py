from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings

from rollmill.formats.records import JSON_TEXT_KEY, Reject
from rollmill.quarantine import QuarantineWriter, quarantine_schema
from rollmill.snapshot import SourceFile
from rollmill.units import Part
from tests.comparing import rows_of
from tests.strategies import prompt_response_batches

PART = Part(SourceFile("a/b.parquet", Path("b"), 1, "ab" * 32, "default", "train", 2), 0, 1, 0, 99)


def written(path: Path, writer: QuarantineWriter) -> pa.Table:
    payload = writer.close("quarantine")
    table = pq.read_table(path)
    assert payload.rows == len(table)
    return table


@given(prompt_response_batches(), st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
def test_whole_records_are_kept_bit_for_bit(tmp_path: Path, batch: pa.RecordBatch, data: st.DataObject) -> None:
    rows = sorted(data.draw(st.sets(st.integers(0, 10**6), min_size=len(batch), max_size=len(batch))))
    writer = QuarantineWriter(tmp_path / "file", batch.schema)
    writer.add_rows(PART, batch, rows, [["empty_response", "reward_missing"]] * len(batch))
    table = written(tmp_path / "file", writer)
    kept = table.column("row").combine_chunks()
    assert rows_of(pa.RecordBatch.from_arrays(kept.flatten(), schema=batch.schema)) == rows_of(batch)
    assert table.column("source_row").to_pylist() == rows


def test_each_record_says_where_it_came_from_and_why(tmp_path: Path) -> None:
    batch = pa.RecordBatch.from_pydict({"prompt": ["a", "b"], "response": ["", None]})
    writer = QuarantineWriter(tmp_path / "file", batch.schema)
    writer.add_rows(PART, batch, [3, 7], [["empty_response"], ["empty_response", "reward_missing"]])
    writer.add_rejects(PART, [Reject(5, "bad_json", b'{"a', "line", "line 6: no end")])
    rows = written(tmp_path / "file", writer).to_pylist()
    assert rows[0] == {
        "source_digest": "ab" * 32,
        "source_ordinal": 2,
        "source_row": 3,
        "reason": "empty_response",
        "reasons": ["empty_response"],
        "detail": None,
        "raw": None,
        "raw_kind": None,
        "row": {"prompt": "a", "response": ""},
    }
    assert (rows[1]["reason"], rows[1]["reasons"]) == ("empty_response", ["empty_response", "reward_missing"])
    shown = {name: rows[2][name] for name in ("source_row", "reason", "raw", "raw_kind", "detail", "row")}
    assert shown == {
        "source_row": 5,
        "reason": "bad_json",
        "raw": b'{"a',
        "raw_kind": "line",
        "detail": "line 6: no end",
        "row": None,
    }


def test_a_file_without_columns_keeps_its_unreadable_lines(tmp_path: Path) -> None:
    writer = QuarantineWriter(tmp_path / "file", pa.schema([]))
    writer.add_rejects(PART, [Reject(0, "bad_json", b"{", "line", "")])
    table = written(tmp_path / "file", writer)
    assert "row" not in table.column_names
    assert table.column("raw").to_pylist() == [b"{"]


def test_records_of_files_with_drifted_columns_share_a_file(tmp_path: Path) -> None:
    schema = pa.schema([("response", pa.string()), ("n", pa.float64()), ("x", pa.string())])
    writer = QuarantineWriter(tmp_path / "file", schema)
    writer.add_rows(PART, pa.RecordBatch.from_pydict({"response": [""], "n": [3]}), [0], [["r"]])
    writer.add_rows(PART, pa.RecordBatch.from_pydict({"x": ["y"], "response": [None]}), [1], [["r"]])
    assert written(tmp_path / "file", writer).column("row").to_pylist() == [
        {"response": "", "n": 3.0, "x": None},
        {"response": None, "n": None, "x": "y"},
    ]


def test_columns_that_are_never_null_allow_unreadable_records(tmp_path: Path) -> None:
    """Parquet refuses a null in a member that is never null, even below a null record."""
    inner = pa.struct([pa.field("deep", pa.int64(), nullable=False)])
    schema = pa.schema([pa.field("response", pa.string(), nullable=False), pa.field("nested", inner, nullable=False)])
    writer = QuarantineWriter(tmp_path / "file", schema)
    writer.add_rejects(PART, [Reject(0, "invalid_utf8", b"", "arrow_ipc", "")])
    batch = pa.RecordBatch.from_pylist([{"response": "", "nested": {"deep": 1}}], schema=schema)
    writer.add_rows(PART, batch, [1], [["empty_response"]])
    rows = written(tmp_path / "file", writer).column("row").to_pylist()
    assert rows == [None, {"response": "", "nested": {"deep": 1}}]


def test_the_mark_of_json_text_is_kept(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("x", pa.string(), metadata={JSON_TEXT_KEY: b"1"})])
    writer = QuarantineWriter(tmp_path / "file", schema)
    writer.add_rows(PART, pa.RecordBatch.from_pydict({"x": ["[1]"]}, schema=schema), [0], [["r"]])
    kind: Any = written(tmp_path / "file", writer).schema.field("row").type
    assert kind.field("x").metadata == {JSON_TEXT_KEY: b"1"}


def test_the_schema_of_what_is_written_is_the_one_told(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("response", pa.string(), nullable=False)])
    writer = QuarantineWriter(tmp_path / "file", schema)
    writer.add_rows(PART, pa.RecordBatch.from_pydict({"response": [""]}, schema=schema), [0], [["r"]])
    assert written(tmp_path / "file", writer).schema.equals(quarantine_schema(schema))


def test_bytes_do_not_depend_on_batches(tmp_path: Path) -> None:
    batch = pa.RecordBatch.from_pydict({"response": [f"text {i}" for i in range(50)]})
    digests = set()
    for size in (1, 7, 50):
        writer = QuarantineWriter(tmp_path / "file", batch.schema)
        for start in range(0, 50, size):
            part = batch.slice(start, size)
            writer.add_rows(PART, part, range(start, start + len(part)), [["r"]] * len(part))
        digests.add(writer.close("quarantine"))
    assert len(digests) == 1
