import hashlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from rollmill.errors import FileRefusedError
from rollmill.sources import StatIndex

SECOND = 1_000_000_000


def sha256(body):
    return hashlib.sha256(body).hexdigest()


def age(path, seconds):
    """Set the file's mtime some seconds back, off the whole second."""
    found = path.stat().st_mtime_ns
    os.utime(path, ns=(found, (found // SECOND - seconds) * SECOND + 123_456_789))


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_bytes(b"one")
    return path


def test_an_unchanged_file_is_hashed_once_even_right_after_it_was_written(tmp_path, data):
    index = StatIndex(tmp_path / "deep/er/index.sqlite")
    assert index.digest(data) == index.digest(data) == sha256(b"one")
    assert index.bytes_hashed == 3
    later = StatIndex(tmp_path / "deep/er/index.sqlite")
    assert later.digest(data) == sha256(b"one")
    assert later.bytes_hashed == 0


@pytest.mark.parametrize("change", ["size", "mtime", "inode", "same size"])
def test_a_changed_file_is_hashed_again(tmp_path, data, change):
    index = StatIndex(tmp_path / "index")
    index.digest(data)
    if change == "size":
        data.write_bytes(b"longer")
    elif change == "same size":
        data.write_bytes(b"two")
    elif change == "mtime":
        age(data, 5)
    else:
        other = tmp_path / "other"
        other.write_bytes(b"two")
        os.utime(other, ns=(data.stat().st_mtime_ns,) * 2)
        other.rename(data)
    assert index.digest(data) == sha256(data.read_bytes())
    assert index.bytes_hashed == 3 + data.stat().st_size


def test_a_file_written_around_the_time_of_hashing_is_not_trusted(tmp_path, data, monkeypatch):
    monkeypatch.setattr("rollmill.sources.index.time.sleep", lambda _seconds: None)
    monkeypatch.setattr("rollmill.sources.index.time.time_ns", lambda: data.stat().st_mtime_ns + 1_000_000)
    index = StatIndex(tmp_path / "index")
    index.digest(data)
    stamp = data.stat().st_mtime_ns
    data.write_bytes(b"two")
    os.utime(data, ns=(stamp, stamp))
    assert index.digest(data) == sha256(b"two")


def test_a_coarse_mtime_needs_more_distance(tmp_path, data):
    index = StatIndex(tmp_path / "index")
    stamp = data.stat().st_mtime_ns // SECOND * SECOND
    os.utime(data, ns=(stamp, stamp))
    index.digest(data)
    data.write_bytes(b"two")
    os.utime(data, ns=(stamp, stamp))
    assert index.digest(data) == sha256(b"two")


def test_a_file_that_changes_once_while_hashed_is_read_again(tmp_path, data, monkeypatch):
    index = StatIndex(tmp_path / "index")
    plain = index._hash
    bodies = [b"three"]

    def hash_and_write(path):
        digest = plain(path)
        if bodies:
            path.write_bytes(bodies.pop())
        return digest

    monkeypatch.setattr(index, "_hash", hash_and_write)
    assert index.digest(data) == sha256(b"three")


def test_a_file_that_keeps_changing_is_refused(tmp_path, data, monkeypatch):
    index = StatIndex(tmp_path / "index")
    plain = index._hash

    def hash_and_write(path):
        digest = plain(path)
        path.write_bytes(path.read_bytes() + b"more")
        return digest

    monkeypatch.setattr(index, "_hash", hash_and_write)
    with pytest.raises(FileRefusedError, match="changed while reading"):
        index.digest(data)


def test_a_file_that_is_gone_is_refused(tmp_path):
    with pytest.raises(FileRefusedError, match=r"gone\.jsonl"):
        StatIndex(tmp_path / "index").digest(tmp_path / "gone.jsonl")


@pytest.mark.parametrize("body", [b"this is no database " * 200, b"", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_corrupt_index_falls_back_to_hashing(tmp_path, data, body):
    (tmp_path / "index").write_bytes(body)
    assert StatIndex(tmp_path / "index").digest(data) == sha256(b"one")
    again = StatIndex(tmp_path / "index")
    assert again.digest(data) == sha256(b"one")
    assert again.bytes_hashed == 0


def test_an_index_with_other_columns_falls_back_to_hashing(tmp_path, data):
    import sqlite3

    with sqlite3.connect(tmp_path / "index") as connection:
        connection.execute("create table files (path text)")
    connection.close()
    assert StatIndex(tmp_path / "index").digest(data) == sha256(b"one")


def test_an_index_without_a_place_falls_back_to_hashing(tmp_path, data):
    index = StatIndex(data / "index")
    assert index.digest(data) == sha256(b"one")
    index.close()
    assert index.digest(data) == sha256(b"one")


def test_threads_and_several_indexes_share_one_file(tmp_path):
    files = []
    for number in range(40):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(str(number).encode())
        files.append(path)
    indexes = [StatIndex(tmp_path / "index") for _ in range(3)]
    barrier = threading.Barrier(6)

    def work(number):
        barrier.wait()
        return [indexes[number % 3].digest(path) for path in files]

    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(work, range(6)))
    assert all(result == [sha256(path.read_bytes()) for path in files] for result in results)
    last = StatIndex(tmp_path / "index")
    assert [last.digest(path) for path in files] == results[0]
    assert last.bytes_hashed == 0
