import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollmill.errors import FileRefusedError
from rollmill.formats import inspect

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"ab" * 32 + b"\nsize 146946961\n"
LINE = b'{"a": 1}\n'


def refusal(tmp_path, name, body):
    path = tmp_path / "on-disk"
    path.write_bytes(body)
    with pytest.raises(FileRefusedError) as caught:
        inspect(path, name)
    assert caught.value.file == name
    assert name in caught.value.message
    return caught.value.message


@pytest.mark.parametrize("name", ["data/train-00000.parquet", "traj_1.json.gz", "a.jsonl"])
def test_an_lfs_pointer_is_named_with_oid_and_size(tmp_path, name):
    message = refusal(tmp_path, name, POINTER)
    assert "LFS pointer" in message
    assert "ab" * 32 in message
    assert "146946961" in message


@pytest.mark.parametrize(
    ("name", "body", "word"),
    [
        ("a.parquet", b"<!DOCTYPE html><p>Sign in", "HTML"),
        ("a.jsonl", b"\n <html><p>404", "HTML"),
        ("a.jsonl.gz", gzip.compress(b"<html>", mtime=0), "HTML"),
        ("a.jsonl", b"<?xml version='1.0'?><Error/>", "XML"),
        ("a.parquet", b"PARE" + b"\0" * 100 + b"PARE", "encrypted"),
        ("a.parquet", b"PAR1" + b"\0" * 100 + b"PARE", "encrypted"),
        ("a.parquet", b"", "empty"),
        ("a.jsonl.gz", b"", "truncated"),
        ("a.parquet", b"garbage", "not a Parquet file"),
        ("a.jsonl", b"ARROW1\0\0", "Arrow"),
        ("a.jsonl", '{"a": 1}'.encode("utf-16"), "UTF-16"),
        ("a.jsonl", b"\xfd7zXZ\x00", "xz"),
        ("a.jsonl", b"PK\x03\x04", "zip"),
        ("a.jsonl.gz", gzip.compress(b"PAR1", mtime=0), "Parquet"),
        ("a.jsonl.gz", gzip.compress(POINTER, mtime=0), "LFS pointer"),
    ],
)
def test_what_is_no_data_is_refused_by_its_name(tmp_path, name, body, word):
    assert word in refusal(tmp_path, name, body)


def test_a_zero_byte_jsonl_has_no_records(tmp_path):
    (tmp_path / "a.jsonl").touch()
    found = inspect(tmp_path / "a.jsonl", "a.jsonl")
    assert (found.rows, found.schema.names) == (0, [])


@pytest.mark.parametrize(
    ("name", "body", "compression"),
    [
        ("a.jsonl", gzip.compress(LINE, mtime=0), "gzip"),
        ("a.jsonl.gz", LINE, None),
        ("a.jsonl.gz", pa.compress(LINE, "zstd", asbytes=True), "zstd"),
        ("a.parquet", LINE, None),
    ],
)
def test_content_decides_over_the_ending(tmp_path, name, body, compression):
    path = tmp_path / name
    path.write_bytes(body)
    found = inspect(path, name)
    assert (found.format, found.compression, found.rows) == ("jsonl", compression, 1)
    assert found.counts == {"format_by_content": 1}


def test_parquet_under_another_ending_is_read(tmp_path):
    path = tmp_path / "a.jsonl"
    pq.write_table(pa.table({"a": [1, 2]}), path)
    found = inspect(path, "a.jsonl")
    assert (found.format, found.rows, found.counts) == ("parquet", 2, {"format_by_content": 1})


def test_a_missing_file_is_refused_with_why(tmp_path):
    with pytest.raises(FileRefusedError, match="No such file"):
        inspect(tmp_path / "gone.jsonl", "gone.jsonl")
