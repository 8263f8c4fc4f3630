from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from rollmill import formats
from rollmill.config import Source, build_pipeline
from rollmill.errors import FileRefusedError, NothingToReadError, SourceMissingError, StoreError
from rollmill.ingest import NotIngestedError, ingest, ingest_known
from rollmill.store import FolderStore
from tests.conftest import write_lines, write_parquet

ROWS = {"prompt": ["a", "b"], "response": ["c", "d"]}


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "store")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files of one split, one of another."""
    write_parquet(tmp_path / "lab" / "train-0.parquet", ROWS)
    write_parquet(tmp_path / "lab" / "train-1.parquet", {**ROWS, "reward": [1.0, None]})
    write_lines(tmp_path / "lab" / "test.jsonl.gz", [{"prompt": "x", "response": "y"}, b"{", {"n": 1}])
    return tmp_path / "lab"


def source(folder: Path) -> Source:
    return build_pipeline(name="x", sources=[{"uri": str(folder)}], destination="/out").sources[0]


def spoil(path: Path) -> None:
    """Put rubbish in a file, leaving size, mtime and inode: whoever opens it will fail."""
    before = path.stat()
    path.write_bytes(b"\xff" * before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (before.st_size, before.st_mtime_ns, before.st_ino) == (after.st_size, after.st_mtime_ns, after.st_ino)


def test_every_file_is_known_by_digest_schema_and_records(store: FolderStore, folder: Path) -> None:
    found, work = ingest(source(folder), store, workers=2)
    files = {file.path: found.inspection(file) for file in found.snapshot.files}
    assert [file.path for file in found.snapshot.files] == ["test.jsonl.gz", "train-0.parquet", "train-1.parquet"]
    assert [look.rows for look in files.values()] == [3, 2, 2], "unreadable records count"
    assert files["train-1.parquet"].schema.field("reward").type == pa.float64()
    assert (work.files, work.cached) == (3, 0)
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert sum(sizes.values()) + sizes["test.jsonl.gz"] < work.bytes_read < 2 * sum(sizes.values())


def test_a_second_ingest_reads_nothing(store: FolderStore, folder: Path) -> None:
    found, _ = ingest(source(folder), store, workers=2)
    again, work = ingest(source(folder), store, workers=1)
    assert again == found
    assert (work.files, work.cached, work.bytes_read) == (3, 3, 0)


def test_what_is_known_needs_no_data_file_opened(store: FolderStore, folder: Path) -> None:
    found, _ = ingest(source(folder), store, workers=2)
    for path in folder.iterdir():
        spoil(path)
    assert ingest_known(source(folder), store) == found


def test_a_new_source_is_not_known(store: FolderStore, folder: Path) -> None:
    with pytest.raises(NotIngestedError):
        ingest_known(source(folder), store)


@pytest.mark.parametrize("change", ["content", "touch", "new"])
def test_a_changed_file_is_not_known(store: FolderStore, folder: Path, change: str) -> None:
    ingest(source(folder), store, workers=1)
    path = folder / "train-0.parquet"
    if change == "content":
        write_parquet(path, {**ROWS, "response": ["other", "d"]})
    elif change == "touch":
        os.utime(path, ns=(1, 1_000_000_001))
    else:
        write_parquet(folder / "train-2.parquet", ROWS)
    with pytest.raises(NotIngestedError):
        ingest_known(source(folder), store)


def test_only_a_new_file_is_looked_at(store: FolderStore, folder: Path) -> None:
    ingest(source(folder), store, workers=1)
    for path in folder.iterdir():
        spoil(path)
    new = write_parquet(folder / "train-2.parquet", {**ROWS, "prompt": ["new", "b"]})
    found, work = ingest(source(folder), store, workers=1)
    assert (work.files, work.cached) == (4, 3)
    size = new.stat().st_size
    assert size < work.bytes_read < 2 * size, "all of it for its digest, the footer for its look"
    assert found.snapshot.files[-1].path == "train-2.parquet"


def test_the_same_bytes_at_another_path_are_looked_at_once(
    store: FolderStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(source(folder), store, workers=1)
    (folder / "train-0.parquet").rename(folder / "train-9.parquet")

    def looked(*_: object) -> None:
        raise AssertionError("looked at again")

    monkeypatch.setattr(formats, "inspect", looked)
    found, work = ingest(source(folder), store, workers=1)
    assert [file.path for file in found.snapshot.files] == ["test.jsonl.gz", "train-1.parquet", "train-9.parquet"]
    assert work.cached == 3


@pytest.mark.parametrize("workers", [1, 4])
def test_the_first_bad_file_is_named(store: FolderStore, folder: Path, workers: int) -> None:
    (folder / "train-1.parquet").write_bytes((folder / "train-0.parquet").read_bytes()[:-9])
    (folder / "train-2.parquet").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")
    with pytest.raises(FileRefusedError) as caught:
        ingest(source(folder), store, workers=workers)
    assert caught.value.file == "train-1.parquet"
    assert "train-1.parquet" in caught.value.message
    with pytest.raises(NotIngestedError):
        ingest_known(source(folder), store)


def test_what_is_missing_or_empty_is_refused(store: FolderStore, tmp_path: Path) -> None:
    with pytest.raises(SourceMissingError, match="nowhere"):
        ingest(source(tmp_path / "nowhere"), store, workers=1)
    (tmp_path / "empty").mkdir()
    with pytest.raises(NothingToReadError, match="empty"):
        ingest(source(tmp_path / "empty"), store, workers=1)


def test_a_store_that_cannot_be_written_is_told_at_once(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        ingest(source(folder), FolderStore(tmp_path / "file"), workers=1)


def test_every_bad_file_is_named(store: FolderStore, folder: Path) -> None:
    for name in ("train-0.parquet", "train-1.parquet"):
        (folder / name).write_bytes((folder / name).read_bytes()[:-20])
    with pytest.raises(FileRefusedError, match=r"train-0\.parquet .*Also refused: train-1\.parquet") as caught:
        ingest(source(folder), store, workers=2)
    assert caught.value.file == "train-0.parquet"
