from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from rollmill import shards
from rollmill.errors import StoreError
from rollmill.shards import ShardWriter, row_bytes
from rollmill.store import Payload
from tests.comparing import rows_of

SCHEMA = pa.schema(
    [
        pa.field("rollout_id", pa.string(), nullable=False),
        pa.field("text", pa.string()),
        pa.field("messages", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
        pa.field("reward", pa.float64()),
    ]
)
TEXTS = ["", None, "a", "ü" * 200, "x" * 900]
MESSAGES: list[Any] = [None, [], [None], [{"role": None, "content": ""}], [{"role": "user", "content": "q" * 700}] * 2]
ROWS = st.lists(st.tuples(st.booleans(), st.sampled_from(TEXTS), st.sampled_from(MESSAGES)), min_size=1, max_size=60)


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups of a few rows."""
    monkeypatch.setattr(shards, "ROW_GROUP_BYTES", 6000)
    monkeypatch.setattr(shards, "ROW_GROUP_ROWS", 7)


def table(rows: list[tuple[bool, str | None, Any]]) -> pa.Table:
    """Rows of rollouts; the first member says whether a new rollout begins."""
    ids, texts, messages, number = [], [], [], 0
    for starts, text, message in rows:
        number += starts
        ids.append(f"r{number}")
        texts.append(text)
        messages.append(message)
    return pa.table([ids, texts, messages, [-0.0] * len(ids)], schema=SCHEMA)


def write(path: Path, *tables: pa.Table, boundary: str | None = "rollout_id") -> Payload:
    writer = ShardWriter(path, tables[0].schema, boundary=boundary)
    for part in tables:
        writer.write(part)
    return writer.close("rollouts")


def cut_at(whole: pa.Table, cuts: list[int]) -> list[pa.Table]:
    places = sorted({0, *(cut % (len(whole) + 1) for cut in cuts), len(whole)})
    return [whole.slice(a, b - a) for a, b in pairwise(places)] + [whole.slice(len(whole))]


def groups_of(path: Path) -> list[pa.Table]:
    with pq.ParquetFile(path) as file:
        return [file.read_row_group(i) for i in range(file.num_row_groups)]


@given(ROWS, st.lists(st.integers(0, 60), max_size=8), st.sampled_from(["rollout_id", None]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
def test_bytes_do_not_depend_on_batches(
    tmp_path: Path, small_groups: None, rows: list[Any], cuts: list[int], boundary: str | None
) -> None:
    whole = table(rows)
    one = write(tmp_path / "one", whole, boundary=boundary)
    many = write(tmp_path / "many", *cut_at(whole, cuts), boundary=boundary)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "many").read_bytes()
    assert one == many
    assert rows_of(pq.read_table(tmp_path / "many")) == rows_of(whole)
    assert one.rows == len(whole)


@given(ROWS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
def test_row_groups_are_bounded_and_hold_whole_rollouts(tmp_path: Path, small_groups: None, rows: list[Any]) -> None:
    write(tmp_path / "file", table(rows))
    groups = groups_of(tmp_path / "file")
    assert all(len(group) for group in groups)
    ids = [group.column("rollout_id").to_pylist() for group in groups]
    assert not any(set(a) & set(b) for a, b in pairwise(ids)), "a rollout lies in two row groups"
    for group, of in zip(groups, ids, strict=True):
        small = len(group) <= shards.ROW_GROUP_ROWS and row_bytes(group).sum() <= shards.ROW_GROUP_BYTES
        assert small or len(set(of)) == 1, "only one rollout alone may go above the bounds"
    for group, after in pairwise(groups):
        first = after.column("rollout_id").to_pylist().count(after.column("rollout_id")[0].as_py())
        more = pa.concat_tables([group, after.slice(0, first)])
        full = len(more) > shards.ROW_GROUP_ROWS or row_bytes(more).sum() > shards.ROW_GROUP_BYTES
        assert full, "the next rollout had room in the row group before it"


def test_many_row_groups_are_written_while_rows_come(tmp_path: Path, small_groups: None) -> None:
    whole = table([(True, "x" * 900, None)] * 400)
    writer = ShardWriter(tmp_path / "file", SCHEMA, boundary="rollout_id")
    sizes = []
    for batch in whole.to_batches(max_chunksize=10):
        writer.write(pa.Table.from_batches([batch]))
        sizes.append((tmp_path / "file").stat().st_size)
    assert sizes[0] < sizes[len(sizes) // 2] < sizes[-1], "memory holds a bounded part only"
    assert writer.close("x").rows == 400
    assert len(groups_of(tmp_path / "file")) > 50


def test_a_row_group_is_filled_to_its_bounds(tmp_path: Path, small_groups: None) -> None:
    def rows_of_groups(size: int) -> list[int]:
        row = table([(True, "x" * (size - row_bytes(table([(True, "", None)]))[0]), None)])
        write(tmp_path / "file", pa.concat_tables([row] * 20), boundary=None)
        return [len(group) for group in groups_of(tmp_path / "file")]

    assert rows_of_groups(1000) == [6, 6, 6, 2], "6,000 bytes"
    assert rows_of_groups(1001) == [5, 5, 5, 5]
    assert rows_of_groups(600) == [7, 7, 6], "7 rows"


@pytest.mark.parametrize("size", [7, 333, 1024, 5000])
def test_bytes_do_not_depend_on_batches_of_many_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Pages have thousands of rows, and a dictionary that is given up on the way."""
    monkeypatch.setattr(shards, "ROW_GROUP_ROWS", 4500)
    texts = [f"{i % 2500}" + "x" * (i % 900) for i in range(9000)]
    whole = table([(True, text, MESSAGES[i % 5]) for i, text in enumerate(texts)])
    one = write(tmp_path / "one", whole)
    many = write(tmp_path / "many", *(whole.slice(start, size) for start in range(0, len(whole), size)))
    assert one == many
    assert len(groups_of(tmp_path / "one")) == 2


def test_a_row_larger_than_a_row_group_stands_alone(tmp_path: Path, small_groups: None) -> None:
    huge = "y" * 50_000
    whole = table([(True, "a", None), (True, huge, None), (True, huge, None), (True, "b", None)])
    for parts in ([whole], cut_at(whole, [1, 2, 3])):
        write(tmp_path / "file", *parts)
        assert [len(group) for group in groups_of(tmp_path / "file")] == [1, 1, 1, 1]
    assert pq.read_table(tmp_path / "file").equals(whole)


def test_a_payload_describes_the_file(tmp_path: Path) -> None:
    payload = write(tmp_path / "file", table([(True, "a", None), (False, None, [])]))
    data = (tmp_path / "file").read_bytes()
    assert payload == Payload("rollouts", hashlib.sha256(data).hexdigest(), len(data), 2)


def test_files_are_zstd_with_a_page_index_and_the_exact_schema(tmp_path: Path) -> None:
    write(tmp_path / "file", table([(True, "a", None)]))
    with pq.ParquetFile(tmp_path / "file") as file:
        assert file.schema_arrow.equals(SCHEMA)
        group = file.metadata.row_group(0)
        for column in map(group.column, range(group.num_columns)):
            assert column.compression == "ZSTD"
            assert column.has_offset_index
            assert column.has_column_index


def test_null_empty_text_and_empty_list_stay_apart(tmp_path: Path) -> None:
    whole = table([(True, text, message) for text in TEXTS for message in MESSAGES])
    write(tmp_path / "file", whole)
    assert rows_of(pq.read_table(tmp_path / "file")) == rows_of(whole)


def test_no_rows_make_a_file_without_row_groups(tmp_path: Path) -> None:
    payload = write(tmp_path / "file", table([(True, "a", None)]).slice(1))
    assert payload.rows == 0
    assert groups_of(tmp_path / "file") == []
    assert pq.read_schema(tmp_path / "file").equals(SCHEMA)


@given(ROWS, st.integers(0, 60), st.integers(0, 60))
def test_the_size_of_a_row_is_a_function_of_the_row_alone(rows: list[Any], start: int, length: int) -> None:
    whole = table(rows)
    part = whole.slice(start, length)
    alone = table([(True, row["text"], row["messages"]) for row in part.to_pylist()]) if len(part) else part
    assert row_bytes(part).tolist() == row_bytes(whole)[start : start + length].tolist()
    assert len(part) == 0 or (row_bytes(alone) - row_bytes(part)).max() <= len("r60")


def test_the_size_of_a_row_grows_with_its_texts_and_lists_at_any_depth() -> None:
    deep = pa.array(
        [[{"m": [("k", "v" * 100)]}], [{"m": []}], None], pa.list_(pa.struct([("m", pa.map_("str", "str"))]))
    )
    numbers = pa.array([None, [0.5] * 1000, []], pa.list_(pa.float64()))
    sizes = row_bytes(pa.table({"deep": deep, "numbers": numbers}))
    assert sizes[0] - sizes[2] >= 100
    assert sizes[1] - sizes[2] >= 8000


def test_a_full_disk_is_an_error_of_the_store(tmp_path: Path) -> None:
    full = tmp_path / "full"
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    full.symlink_to("/dev/full")
    with pytest.raises(StoreError, match="No space left"):
        write(full, table([(True, "a", None)]))
