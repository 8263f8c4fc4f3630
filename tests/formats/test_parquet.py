import base64
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow.parquet import encryption

from rollmill.errors import FileRefusedError
from rollmill.formats import inspect, parquet, read


def write(tmp_path, table, **options):
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, **options)
    return path


def load(path, *span, **options):
    found = inspect(path, "a.parquet")
    parts = list(read(path, "a.parquet", found, *span, **options))
    assert all(part.data.schema.equals(found.schema, check_metadata=True) for part in parts)
    table = pa.Table.from_batches([part.data for part in parts], found.schema)
    return table, [row for part in parts for row in part.rows.to_pylist()], parts, found


LIST_OF = pa.list_(pa.large_string())


@pytest.mark.parametrize(
    ("physical", "logical", "values"),
    [
        (pa.large_string(), pa.string(), ["x", None, "é"]),
        (pa.string_view(), pa.string(), ["x", None, "a text longer than twelve bytes"]),
        (pa.dictionary(pa.int8(), pa.string()), pa.string(), ["x", None, "x"]),
        (pa.dictionary(pa.int32(), pa.large_string()), pa.string(), ["x", None, "x"]),
        (pa.large_binary(), pa.binary(), [b"\xff", None]),
        (pa.large_list(pa.float32()), pa.list_(pa.float32()), [[0.5], None, []]),
        (pa.list_(pa.float32(), 2), pa.list_(pa.float32()), [[0.5, 1.5], None]),
        (
            pa.list_(pa.struct([("k", pa.large_string())])),
            pa.list_(pa.struct([("k", pa.string())])),
            [[{"k": "v"}], []],
        ),
        (pa.large_list(LIST_OF), pa.list_(pa.list_(pa.string())), [[["x"], None], []]),
        (pa.map_(pa.string(), pa.large_string()), pa.map_(pa.string(), pa.string()), [[("k", "v")], None]),
        (pa.timestamp("ns", "Asia/Tokyo"), pa.timestamp("ns", "Asia/Tokyo"), [1, None]),
        (pa.int8(), pa.int8(), [1, None]),
        (pa.null(), pa.null(), [None, None]),
    ],
)
def test_physical_forms_become_one_logical_type(tmp_path, physical, logical, values):
    array = pa.array(values, physical)
    table, *_ = load(write(tmp_path, pa.table({"a": array})))
    assert table.schema.field("a").type == logical
    assert table.column("a").to_pylist() == array.to_pylist()


def test_nullability_is_kept_and_notes_of_libraries_are_dropped(tmp_path):
    schema = pa.schema(
        [
            pa.field("a", pa.int64(), nullable=False),
            pa.field("l", pa.list_(pa.field("item", pa.string(), nullable=False))),
        ],
        metadata={b"huggingface": b"{}", b"pandas": b"{}", b"mine": b"1"},
    )
    _, _, _, found = load(write(tmp_path, pa.table({"a": [1], "l": [["x"]]}, schema=schema)))
    assert not found.schema.field("a").nullable
    assert not found.schema.field("l").type.value_field.nullable
    assert found.schema.metadata == {b"mine": b"1"}


def test_a_pandas_index_is_an_ordinary_column_here(tmp_path):
    table, *_ = load(write(tmp_path, pa.table({"a": [1], "__index_level_0__": [7]})))
    assert table.column_names == ["a", "__index_level_0__"]


def test_a_range_of_row_groups_has_the_record_numbers_of_the_file(tmp_path):
    path = write(tmp_path, pa.table({"a": range(100)}), row_group_size=30)
    table, rows, _, found = load(path, 1, 3)
    assert [group.rows for group in found.groups] == [30, 30, 30, 10]
    assert rows == list(range(30, 90)) == table.column("a").to_pylist()


def test_batches_stay_within_the_bytes_asked_for_and_one_row_group(tmp_path):
    texts = [os.urandom(500).hex() for _ in range(400)]
    path = write(tmp_path, pa.table({"a": texts}), row_group_size=100)
    table, _, parts, _ = load(path, batch_bytes=20_000)
    assert table.column("a").to_pylist() == texts
    assert max(part.data.nbytes for part in parts) <= 40_000
    assert all(part.rows[0].as_py() // 100 == part.rows[-1].as_py() // 100 for part in parts)


def test_repeated_text_that_is_small_on_disk_is_cut_by_its_size_in_memory(tmp_path):
    path = write(tmp_path, pa.table({"a": ["the same long answer " * 500] * 5000}), row_group_size=5000)
    assert path.stat().st_size < 100_000
    _, rows, parts, _ = load(path, batch_bytes=1 << 20)
    assert len(rows) == 5000
    assert max(part.data.nbytes for part in parts) <= 2 << 20


def test_a_row_larger_than_a_batch_is_read(tmp_path):
    table, *_ = load(write(tmp_path, pa.table({"a": ["x" * 100_000, "y"]})), batch_bytes=10)
    assert [len(text) for text in table.column("a").to_pylist()] == [100_000, 1]


@pytest.mark.parametrize("groups", [0, 1])
def test_files_without_rows_keep_their_schema(tmp_path, groups):
    path = tmp_path / "a.parquet"
    schema = pa.schema([("a", pa.large_string())])
    with pq.ParquetWriter(path, schema) as out:
        for _ in range(groups):
            out.write_table(schema.empty_table())
    table, rows, _, found = load(path)
    assert (found.rows, rows, table.schema) == (0, [], pa.schema([("a", pa.string())]))


def invalid_strings(values):
    return pa.array(values, pa.binary()).view(pa.string())


def test_rows_with_invalid_utf8_are_put_aside_whole(tmp_path):
    flat = invalid_strings([b"ok", b"\xff", b"ok", b"fine", b"ok"])
    nested = pa.ListArray.from_arrays([0, 1, 1, 1, 2, 2], invalid_strings([b"x", b"\xc3("]))
    path = write(tmp_path, pa.table({"id": range(5), "a": flat, "n": nested}))
    table, rows, (records,), _ = load(path)
    assert rows == table.column("id").to_pylist() == [0, 2, 4]
    records.data.validate(full=True)
    assert [(r.row, r.reason, r.raw_kind) for r in records.rejects] == [
        (1, "invalid_utf8", "arrow_ipc"),
        (3, "invalid_utf8", "arrow_ipc"),
    ]
    assert "'a'" in records.rejects[0].detail
    assert "'n'" in records.rejects[1].detail
    raw = pa.ipc.open_stream(records.rejects[0].raw).read_all()
    assert (raw.num_rows, raw.column("a").cast(pa.binary()).to_pylist()) == (1, [b"\xff"])


@pytest.mark.parametrize("physical", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_invalid_utf8_is_found_in_every_physical_form(tmp_path, physical):
    bad = invalid_strings([b"ok", b"\xff", b"ok"])
    array = bad.dictionary_encode() if isinstance(physical, pa.DictionaryType) else bad.cast(physical)
    _, rows, (records,), _ = load(write(tmp_path, pa.table({"a": array})))
    assert (rows, [reject.row for reject in records.rejects]) == ([0, 2], [1])


@pytest.mark.parametrize("keep", [0.66, 0.1])
def test_a_truncated_file_is_refused(tmp_path, keep):
    path = write(tmp_path, pa.table({"a": [str(i) for i in range(1000)]}))
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * keep)])
    with pytest.raises(FileRefusedError, match=r"a\.parquet .*truncated"):
        inspect(path, "a.parquet")


def test_a_file_that_lost_its_middle_is_refused(tmp_path):
    path = write(tmp_path, pa.table({"a": [os.urandom(50).hex() for _ in range(1000)]}))
    body = path.read_bytes()
    path.write_bytes(body[:1000] + body[-2000:])
    with pytest.raises(FileRefusedError, match="truncated"):
        inspect(path, "a.parquet")


def test_a_damaged_page_is_refused_with_its_row_group(tmp_path):
    path = write(tmp_path, pa.table({"a": [os.urandom(50).hex() for _ in range(1000)]}), row_group_size=500)
    body = bytearray(path.read_bytes())
    middle = len(body) // 4
    body[middle : middle + 3000] = b"\xff" * 3000
    path.write_bytes(bytes(body))
    with pytest.raises(FileRefusedError, match="row group 0"):
        load(path)


def test_two_columns_of_one_name_are_refused(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(FileRefusedError, match="'a'") as caught:
        inspect(write(tmp_path, table), "a.parquet")
    assert caught.value.column == "a"


def test_a_file_that_changed_since_its_inspection_is_refused(tmp_path):
    path = write(tmp_path, pa.table({"a": [1, 2]}))
    found = inspect(path, "a.parquet")
    write(tmp_path, pa.table({"a": [1, 2, 3]}))
    with pytest.raises(FileRefusedError, match="changed while reading"):
        list(read(path, "a.parquet", found))


def test_bytes_read_are_those_of_the_row_groups_and_the_footer(tmp_path):
    path = write(tmp_path, pa.table({"a": [os.urandom(500).hex() for _ in range(200)]}), row_group_size=100)
    found = inspect(path, "a.parquet")
    whole = read(path, "a.parquet", found)
    half = read(path, "a.parquet", found, 0, 1)
    list(whole), list(half)
    assert whole.bytes_read == path.stat().st_size - 4
    assert 0.4 * whole.bytes_read < half.bytes_read < 0.6 * whole.bytes_read


rows = st.lists(
    st.fixed_dictionaries(
        {"s": st.none() | st.text(max_size=30), "n": st.lists(st.integers(-9, 9), max_size=4), "f": st.floats(width=32)}
    ),
    max_size=30,
)
SCHEMA = pa.schema([("s", pa.large_string()), ("n", pa.large_list(pa.int8())), ("f", pa.float32())])


@given(rows, st.integers(1, 12), st.integers(1, 500))
def test_batches_together_are_the_file(tmp_path_factory, values, row_group_size, batch_bytes):
    source = pa.Table.from_pylist(values, SCHEMA)
    path = write(tmp_path_factory.mktemp("parquet"), source, row_group_size=row_group_size)
    table, numbers, _, found = load(path, batch_bytes=batch_bytes)
    assert numbers == list(range(len(values)))
    assert found.rows == len(values)
    assert str(table.to_pylist()) == str(source.to_pylist())


class PlainKeys(encryption.KmsClient):  # type: ignore[misc]
    """Keeps keys in the open: enough to write an encrypted file."""

    def __init__(self, _config):
        super().__init__()

    def wrap_key(self, key_bytes, _master_key):
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key, _master_key):
        return base64.b64decode(wrapped_key)


@pytest.mark.parametrize("plaintext_footer", [True, False])
def test_encrypted_files_are_refused(tmp_path, plaintext_footer):
    """With a plain footer pyarrow opens the file and ends the process at the first look at an encrypted column."""
    config = encryption.EncryptionConfiguration("foot", column_keys={"key": ["a"]}, plaintext_footer=plaintext_footer)
    factory = encryption.CryptoFactory(PlainKeys)
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), config)
    table = pa.table({"a": ["x"] * 100, "b": range(100)})
    with pq.ParquetWriter(tmp_path / "a.parquet", table.schema, encryption_properties=properties) as out:
        out.write_table(table)
    with pytest.raises(FileRefusedError, match="encrypted"):
        inspect(tmp_path / "a.parquet", "a.parquet")


def test_a_footer_whose_row_counts_do_not_add_up_is_refused(tmp_path):
    path = tmp_path / "train.parquet"
    pq.write_table(pa.table({"a": range(100)}), path)
    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    total = data.index(b"\x16\xc8\x01", footer)  # field 3, an i64: 100 as a zigzag varint
    path.write_bytes(data[:total] + b"\x16\xca\x01" + data[total + 3 :])
    assert (pq.read_metadata(path).num_rows, pq.read_metadata(path).row_group(0).num_rows) == (101, 100)
    with pytest.raises(FileRefusedError, match=r"train\.parquet.*promises 101 rows, its row groups hold 100"):
        inspect(path, "train.parquet")


@pytest.mark.parametrize(
    ("note", "kept"), [("{}", "{}"), ("", None), ("x" * (1 << 20), "x" * (1 << 20)), ("x" * 2**21, None)]
)
def test_the_note_of_datasets_is_kept_if_it_is_of_a_sensible_length(tmp_path, note, kept):
    table = pa.table({"a": [1]}).replace_schema_metadata({"huggingface": note})
    pq.write_table(table, tmp_path / "a.parquet")
    assert inspect(tmp_path / "a.parquet", "a.parquet").note == kept


def test_records_that_would_fill_the_memory_are_refused_before_they_are_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "RECORD_CEILING", 1 << 20)
    path = tmp_path / "train.parquet"
    table = pa.table({"prompt": ["p"] * 8, "response": ["r"] * 5 + ["0" * (3 << 20)] * 3})
    pq.write_table(table, path, row_group_size=5, compression="zstd", use_dictionary=False)
    assert path.stat().st_size < 1 << 20, "a small file"
    with pytest.raises(FileRefusedError, match="row group 1 have 3 MiB each once unpacked") as caught:
        parquet.inspect(path, "train.parquet")
    assert (caught.value.file, caught.value.row) == ("train.parquet", 5)
