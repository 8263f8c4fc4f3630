from __future__ import annotations

import shutil
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from rollmill import reading, shards
from rollmill.errors import AccessError, ConfigError, StoreError
from rollmill.restore import restore
from tests.comparing import rows_of
from tests.conftest import Mill, Milled, write_lines, write_parquet
from tests.strategies import prompt_response_batches


def batch(start: int, rows: int, **more: Any) -> pa.Table:
    """Good rows, all different."""
    numbers = range(start, start + rows)
    return pa.table({"prompt": [f"p{i}" for i in numbers], "response": [f"r{i}" for i in numbers], **more})


def same(restored: pa.Table, *files: pa.Table) -> None:
    """Assert that rows, order, columns and types are those of the files, one after the other."""
    source = pa.concat_tables(files)
    assert restored.schema.names == source.schema.names
    assert restored.schema.types == source.schema.types
    assert rows_of(restored) == rows_of(source)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_went_in_comes_out(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Any extra columns, any rows, good and bad, in any number of files of any number of row groups."""
    root = tmp_path_factory.mktemp("any")
    source = pa.Table.from_batches([data.draw(prompt_response_batches())])
    source = pa.concat_tables([source, good_row(source.schema), source])
    cuts = data.draw(st.sets(st.integers(0, len(source)), max_size=2))
    places = sorted({0, *cuts, len(source)})
    for number, (start, end) in enumerate(pairwise(places)):
        path = root / "lab" / f"train-{number}.parquet"
        write_parquet(path, source.slice(start, end - start), row_group_size=data.draw(st.integers(1, 5)))
    try:
        milled = Mill(root)(root / "lab")
    except Exception as error:
        if getattr(error, "column", None) == "reward":  # a file whose rewards are all null
            return
        raise
    restored, result = milled.restored(root / "out.parquet", with_quarantine=True)
    same(restored, pq.read_table(root / "lab"))
    assert rows_of(restored) == rows_of(source)
    assert result.rows == len(source)
    published, _ = milled.restored(root / "out.parquet")
    bad = {row["source_row"] for row in milled.quarantined()}
    assert len(places) > 2 or rows_of(published) == rows_of(
        source.take(pa.array([i for i in range(len(source)) if i not in bad], pa.int64()))
    )


def good_row(schema: pa.Schema) -> pa.Table:
    """A row that is published."""
    row: dict[str, Any] = {"prompt": "p", "response": "r"}
    if "reward" in schema.names:
        kind = schema.field("reward").type
        row["reward"] = True if pa.types.is_boolean(kind) else Decimal(1) if pa.types.is_decimal(kind) else 1
    return pa.Table.from_pylist([row], schema=schema)


def test_every_row_of_every_split_comes_back_in_order(mill: Mill, tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    files = [batch(10 * i, 10, n=pa.array(range(10), pa.int8())) for i in range(12)]
    for number, table in enumerate(files):
        write_parquet(folder / f"train-{number}.parquet", table, row_group_size=3)
    lines = [{"prompt": f"q{i}", "response": "x", "tags": [i, None], "o": {"a": i}} for i in range(5)]
    write_lines(folder / "test.jsonl.gz", lines)
    milled = mill(folder)
    restored, result = milled.restored(tmp_path / "out.parquet", split="train")
    same(restored, *files)
    assert (result.rows, result.unreadable) == (120, [])
    restored, _ = milled.restored(tmp_path / "out.parquet", split="test", config="default")
    assert [row["prompt"] for row in restored.to_pylist()] == [f"q{i}" for i in range(5)]
    assert restored.column("tags").to_pylist() == [f"[{i},null]" for i in range(5)], "nested JSON is JSON text"
    everything, result = milled.restored(tmp_path / "out.parquet")
    assert result.rows == 125
    assert everything.column("n").null_count == 5


@pytest.mark.parametrize("groups", ["large", "small"])
def test_rows_put_aside_come_back_at_their_places(
    mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: str
) -> None:
    if groups == "small":
        monkeypatch.setattr(shards, "ROW_GROUP_ROWS", 4)
        monkeypatch.setattr(reading, "BATCH_BYTES", 100)
    bad = {0, 1, 7, 13, 14, 29}
    files = [
        pa.table(
            {"prompt": [f"p{n}-{i}" for i in range(30)], "response": ["" if i in bad else f"r{i}" for i in range(30)]}
        )
        for n in range(3)
    ]
    for number, table in enumerate(files):
        write_parquet(tmp_path / "lab" / f"train-{number}.parquet", table, row_group_size=7)
    milled = mill(tmp_path / "lab")
    restored, _ = milled.restored(tmp_path / "out.parquet", with_quarantine=True)
    same(restored, *files)
    restored, _ = milled.restored(tmp_path / "out.parquet")
    kept = pa.array([i for i in range(30) if i not in bad])
    same(restored, *(table.take(kept) for table in files))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_file_whose_rows_are_all_put_aside_keeps_its_place(mill: Mill, tmp_path: Path, place: int) -> None:
    files = [batch(0, 3), batch(3, 3), batch(6, 3)]
    files[place] = files[place].set_column(1, "response", pa.array(["", None, " "]))
    for number, table in enumerate(files):
        write_parquet(tmp_path / "lab" / f"train-{number}.parquet", table)
    milled = mill(tmp_path / "lab")
    same(milled.restored(tmp_path / "out.parquet", with_quarantine=True)[0], *files)
    same(milled.restored(tmp_path / "out.parquet")[0], *(f for i, f in enumerate(files) if i != place))


def test_a_split_whose_rows_are_all_put_aside_comes_back(mill: Mill, tmp_path: Path) -> None:
    bad = pa.table({"prompt": ["a", "b"], "response": ["", ""]})
    write_parquet(tmp_path / "lab" / "test.parquet", bad)
    write_parquet(tmp_path / "lab" / "train.parquet", batch(0, 2))
    milled = mill(tmp_path / "lab")
    same(milled.restored(tmp_path / "out.parquet", split="test", with_quarantine=True)[0], bad)
    assert milled.restored(tmp_path / "out.parquet", split="test")[1].rows == 0


def test_duplicates_of_one_file_in_one_split_come_back_each(mill: Mill, tmp_path: Path) -> None:
    one = pa.table({"prompt": ["a", "b", "c"], "response": ["", "r", ""]})
    other = batch(0, 2)
    for number, table in enumerate([one, one, other, one, one]):
        write_parquet(tmp_path / "lab" / f"train-{number}.parquet", table)
    milled = mill(tmp_path / "lab")
    assert len(set(milled.rollouts().column("row_id").to_pylist())) == 6, "rows of each copy have ids of their own"
    same(milled.restored(tmp_path / "out.parquet", with_quarantine=True)[0], one, one, other, one, one)
    assert milled.restored(tmp_path / "out.parquet")[0].column("response").to_pylist() == [
        "r",
        "r",
        "r0",
        "r1",
        "r",
        "r",
    ]


def test_a_file_named_in_two_splits_comes_back_once_in_each(mill: Mill, tmp_path: Path) -> None:
    one = pa.table({"prompt": ["a", "b", "c"], "response": ["", "r", ""]})
    write_parquet(tmp_path / "lab" / "d.parquet", one)
    files = "".join(f"  - {{split: {split}, path: d.parquet}}\n" for split in ("train", "test"))
    (tmp_path / "lab" / "README.md").write_text(f"---\nconfigs:\n- config_name: default\n  data_files:\n{files}---\n")
    milled = mill(tmp_path / "lab")
    for split in ("train", "test"):
        same(milled.restored(tmp_path / "out.parquet", with_quarantine=True, split=split)[0], one)


def test_a_file_cut_into_units_comes_back_whole(mill: Mill, tmp_path: Path) -> None:
    texts = ["" if i % 5 == 0 else f"{i}" + "x" * 70_000 for i in range(60)]
    source = pa.table({"prompt": [str(i) for i in range(60)], "response": texts})
    write_parquet(tmp_path / "lab" / "train.parquet", source, row_group_size=10, use_dictionary=False)
    milled = mill(tmp_path / "lab", unit_bytes=1 << 20)
    assert len(milled.plan.units) > 2
    same(milled.restored(tmp_path / "out.parquet", with_quarantine=True)[0], source)


def test_drifted_columns_come_back_as_their_common_form(mill: Mill, tmp_path: Path) -> None:
    write_parquet(tmp_path / "lab" / "train-0.parquet", {"prompt": ["a", "b"], "response": ["r", ""], "n": [1, 2]})
    write_parquet(tmp_path / "lab" / "train-1.parquet", {"response": ["r", ""], "n": [0.5, None], "prompt": ["c", "d"]})
    more = {"prompt": ["e"], "response": ["r"], "x": [[True, None]]}
    write_parquet(tmp_path / "lab" / "train-2.parquet", more)
    restored, _ = mill(tmp_path / "lab").restored(tmp_path / "out.parquet", with_quarantine=True)
    assert restored.to_pylist() == [
        {"prompt": "a", "response": "r", "n": 1.0, "x": None},
        {"prompt": "b", "response": "", "n": 2.0, "x": None},
        {"prompt": "c", "response": "r", "n": 0.5, "x": None},
        {"prompt": "d", "response": "", "n": None, "x": None},
        {"prompt": "e", "response": "r", "n": None, "x": [True, None]},
    ]


def test_text_beside_json_comes_back_alike_published_or_not(mill: Mill, tmp_path: Path) -> None:
    def rows(value: Any) -> list[dict[str, Any]]:
        return [{"prompt": "a", "response": response, "x": value} for response in ("r", "")]

    for number, value in enumerate(['say "hi"', [1], 7, {"k": None}]):
        write_lines(tmp_path / "lab" / f"train-{number}.jsonl", rows(value))
    restored, _ = mill(tmp_path / "lab").restored(tmp_path / "out.parquet", with_quarantine=True)
    texts = restored.column("x").to_pylist()
    assert texts[0::2] == texts[1::2] == ['"say \\"hi\\""', "[1]", "7", '{"k":null}']


def test_a_file_that_lacks_a_column_the_layout_needs_comes_back(mill: Mill, tmp_path: Path) -> None:
    write_lines(tmp_path / "lab" / "train-0.jsonl", [{"prompt": "a", "response": "b"}])
    write_lines(tmp_path / "lab" / "train-1.jsonl", [{"response": "c"}, {"response": ""}])
    write_lines(tmp_path / "lab" / "train-2.jsonl", [{"prompt": "d"}])
    milled = mill(tmp_path / "lab")
    assert [row["context"] for row in milled.rollouts().to_pylist()][1] == [], "nothing is invented"
    assert milled.restored(tmp_path / "out.parquet", with_quarantine=True)[0].to_pylist() == [
        {"prompt": "a", "response": "b"},
        {"prompt": None, "response": "c"},
        {"prompt": None, "response": ""},
        {"prompt": "d", "response": None},
    ]


def test_rows_of_invalid_utf8_come_back_byte_for_byte(mill: Mill, tmp_path: Path) -> None:
    buffers = pa.array(["ab", "cd", "ef"]).buffers()
    broken = pa.Array.from_buffers(pa.string(), 3, [*buffers[:2], pa.py_buffer(b"ab\xff\xfeef")])
    fields = [
        pa.field("prompt", pa.string()),
        pa.field("response", pa.string()),
        pa.field("n", pa.int64(), nullable=False),
    ]
    arrays = [pa.array(["p", "q", "s"]), broken, pa.array([1, 2, 3])]
    write_parquet(tmp_path / "lab" / "train.parquet", pa.Table.from_arrays(arrays, schema=pa.schema(fields)))
    milled = mill(tmp_path / "lab")
    restored, result = milled.restored(tmp_path / "out.parquet", with_quarantine=True)
    assert restored.column("response").cast(pa.binary()).to_pylist() == [b"ab", b"\xff\xfe", b"ef"]
    assert restored.column("n").to_pylist() == [1, 2, 3]
    assert restored.schema.field("n").nullable is False
    assert (result.rows, result.unreadable) == (3, [])


def test_lines_that_are_no_rows_are_reported(mill: Mill, tmp_path: Path) -> None:
    lines: list[Any] = [
        {"prompt": "a", "response": "b"},
        b'{"prompt": ',
        {"prompt": "a", "response": ""},
        b'{"a": 1, "a": 2}',
    ]
    write_lines(tmp_path / "lab" / "train-0.jsonl.gz", lines)
    write_lines(tmp_path / "lab" / "train-1.jsonl", [b"\xff"])
    restored, result = mill(tmp_path / "lab").restored(tmp_path / "out.parquet", with_quarantine=True)
    assert restored.column("response").to_pylist() == ["b", ""]
    assert result.unreadable == [
        ("train-0.jsonl.gz", 1, "bad_json"),
        ("train-0.jsonl.gz", 3, "duplicate_key"),
        ("train-1.jsonl", 0, "invalid_utf8"),
    ]


def test_extras_keep_their_types_and_odd_values(mill: Mill, tmp_path: Path) -> None:
    nan, inf = float("nan"), float("inf")
    extras = {
        "f64": pa.array([nan, -0.0, 0.0, None, -inf]),
        "f32": pa.array([nan, -0.0, 0.1, None, inf], pa.float32()),
        "f16": pa.array([nan, -0.0, 0.5, None, inf], pa.float32()).cast(pa.float16()),
        "text": pa.array(["", None, "NaN", "null", "\x00"]),
        "big": pa.array([2**63 - 1, -(2**63), None, 0, 1]),
        "ubig": pa.array([2**64 - 1, 0, None, 1, 2], pa.uint64()),
        "bytes": pa.array([b"", None, b"\xff", b"a", b"\x00"]),
        "list": pa.array([[], None, [None], [""], ["a", None]], pa.list_(pa.string())),
        "struct": pa.array(
            [{}, None, {"a": None}, {"a": []}, {"a": [nan]}], pa.struct([("a", pa.list_(pa.float64()))])
        ),
        "map": pa.array([[], None, [("k", None)], [("k", "")], [("a", "b"), ("a", "c")]], pa.map_("str", "str")),
        "when": pa.array([0, None, 2**52, -1, 1], pa.timestamp("us", "Asia/Tokyo")),
        "day": pa.array([0, None, 1, -1, 2], pa.date32()),
        "clock": pa.array([0, None, 1, 2, 3], pa.time64("us")),
        "money": pa.array(["1.50", None, "-0.01", "0", "9"], pa.string()).cast(pa.decimal128(9, 2)),
        "none": pa.nulls(5),
        "flag": pa.array([True, None, False, True, False]),
        "code": pa.array(["a", None, "b", "a", ""]).dictionary_encode(),
    }
    path = write_parquet(tmp_path / "lab" / "train.parquet", batch(0, 5, **extras), store_schema=True)
    milled = mill(tmp_path / "lab")
    source = pq.read_table(path)
    source = source.set_column(source.schema.get_field_index("code"), "code", source.column("code").cast(pa.string()))
    same(milled.restored(tmp_path / "out.parquet")[0], source)
    write_parquet(path, batch(0, 5, **extras).set_column(1, "response", pa.array(["r", "", "", "", ""])))
    again, _ = Mill(tmp_path / "again")(tmp_path / "lab").restored(tmp_path / "out.parquet", with_quarantine=True)
    assert rows_of(again.drop_columns(["response"])) == rows_of(source.drop_columns(["response"]))


def test_a_nullability_that_the_source_has_is_kept(mill: Mill, tmp_path: Path) -> None:
    fields = [pa.field("prompt", pa.string(), nullable=False), pa.field("response", pa.string())]
    source = pa.table({"prompt": ["a"], "response": ["b"]}, schema=pa.schema(fields))
    write_parquet(tmp_path / "lab" / "train.parquet", source)
    restored, _ = mill(tmp_path / "lab").restored(tmp_path / "out.parquet")
    assert [field.nullable for field in restored.schema] == [False, True]


@pytest.fixture
def milled(mill: Mill, tmp_path: Path) -> Milled:
    """Two sources; in `lab` a split with a row put aside."""
    write_parquet(tmp_path / "lab" / "train.parquet", {"prompt": ["a", "b"], "response": ["r", ""]})
    write_parquet(tmp_path / "lab" / "test.parquet", batch(0, 3))
    write_parquet(tmp_path / "more" / "train.parquet", batch(5, 3))
    return mill(tmp_path / "lab", tmp_path / "more")


def test_each_source_is_restored_alone(milled: Milled, tmp_path: Path) -> None:
    same(milled.restored(tmp_path / "out.parquet", source="more")[0], batch(5, 3))


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        ({"source": "nobody"}, ["nobody", "lab, more"]),
        ({"source": "lab", "split": "dev"}, ["'dev'", "default/test, default/train"]),
        ({"source": "lab", "config": "other"}, ["'other'", "default/test"]),
    ],
)
def test_what_is_not_there_is_told_with_what_is(
    milled: Milled, tmp_path: Path, selection: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        milled.restored(tmp_path / "out.parquet", **selection)
    assert all(word in caught.value.message for word in words)
    assert not (tmp_path / "out.parquet").exists()


def data_file(milled: Milled, split: str = "test") -> Path:
    return milled.destination.data_path(next(file for file in milled.version.files if file.split == split))


@pytest.mark.parametrize("column", ["source_row_hash", "context", "completion"])
def test_a_row_that_is_not_what_it_was_is_noticed(milled: Milled, tmp_path: Path, column: str) -> None:
    path = data_file(milled)
    table = pq.read_table(path)
    values = table.column(column).to_pylist()
    values[1], values[2] = values[2], values[1]
    field = table.schema.field(column)
    swapped = pa.array(values, field.type)
    pq.write_table(table.set_column(table.schema.get_field_index(column), field, swapped), path)
    (tmp_path / "out.parquet").write_text("kept")
    with pytest.raises(StoreError, match=r"test\.parquet does not match its source_row_hash"):
        milled.restored(tmp_path / "out.parquet", source="lab")
    assert (tmp_path / "out.parquet").read_text() == "kept"
    assert [p.name for p in tmp_path.iterdir() if "partial" in p.name] == []


def test_a_damaged_data_file_is_named(milled: Milled, tmp_path: Path) -> None:
    path = data_file(milled)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(StoreError, match="damaged") as caught:
        milled.restored(tmp_path / "out.parquet", source="lab")
    assert path.name in caught.value.message


def test_a_missing_data_file_is_named(milled: Milled, tmp_path: Path) -> None:
    path = data_file(milled)
    path.unlink()
    with pytest.raises(AccessError, match=path.name):
        milled.restored(tmp_path / "out.parquet", source="lab")


def test_a_store_without_the_quarantine_is_told(milled: Milled, tmp_path: Path) -> None:
    shutil.rmtree(milled.store.root / "objects")
    assert milled.restored(tmp_path / "out.parquet", source="lab")[1].rows == 4
    with pytest.raises(AccessError, match=r"train\.parquet .*--store"):
        milled.restored(tmp_path / "out.parquet", source="lab", with_quarantine=True)


def test_a_place_that_cannot_be_written_is_told(milled: Milled, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(AccessError, match=r"file/out\.parquet"):
        milled.restored(tmp_path / "file" / "out.parquet", source="lab")


def test_a_destination_without_a_version_is_told(mill: Mill, milled: Milled, tmp_path: Path) -> None:
    shutil.rmtree(milled.destination.path)
    with pytest.raises(AccessError, match="no version"):
        restore(milled.destination, tmp_path / "out.parquet", source="lab")


def test_the_source_itself_is_not_needed(milled: Milled, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "more")
    same(milled.restored(tmp_path / "out.parquet", source="more")[0], batch(5, 3))
