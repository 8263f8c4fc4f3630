from __future__ import annotations

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from rollmill.errors import StoreError
from rollmill.store import FolderStore, HashingSink, Manifest, Payload

KEY = "ab" * 32


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "store")


def put(store: FolderStore, content: bytes, *, key: str = KEY, stage: str = "normalize", note: str = "") -> Manifest:
    """Write a payload the way the stages do, and add it."""
    with store.scratch() as folder:
        sink = HashingSink(folder / "payload")
        sink.write(content)
        sink.close()
        payload = Payload("rollouts", sink.sha256, sink.bytes, 1)
        manifest = Manifest(stage, key, (payload,), ("parent",), {"note": note})
        return store.put(manifest, {"rollouts": folder / "payload"})


def content_of(store: FolderStore, manifest: Manifest) -> bytes:
    return store.object_path(manifest.payloads[0].sha256).read_bytes()


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_what_was_put_is_found_again(store: FolderStore) -> None:
    manifest = put(store, b"rows", note="ü")
    found = FolderStore(store.root).get("normalize", KEY)
    assert found == manifest
    assert found is not None
    assert content_of(store, found) == b"rows"
    assert found.payload("rollouts") == Payload("rollouts", hashlib.sha256(b"rows").hexdigest(), 4, 1)
    assert found.payload("other") is None
    assert found.facts == {"note": "ü"}
    assert found.made["at"]


def test_what_was_not_put_is_not_found(store: FolderStore) -> None:
    assert store.get("normalize", KEY) is None
    put(store, b"rows")
    assert store.get("validate", KEY) is None
    assert store.get("normalize", "cd" * 32) is None


def test_an_artifact_may_have_no_payload(store: FolderStore) -> None:
    store.put(Manifest("ingest", KEY, facts={"rows": 3}), {})
    found = store.get("ingest", KEY)
    assert found is not None
    assert found.facts == {"rows": 3}


def test_equal_payloads_are_one_object(store: FolderStore) -> None:
    put(store, b"rows", key="1" * 64)
    put(store, b"rows", key="2" * 64)
    assert files_below(store.root / "objects") == [hashlib.sha256(b"rows").hexdigest()]


def test_the_second_adopts_the_manifest_of_the_first(store: FolderStore) -> None:
    first = put(store, b"one", note="first")
    assert put(store, b"two", note="second") == first
    assert store.get("normalize", KEY) == first


def test_threads_that_race_agree(store: FolderStore) -> None:
    barrier = Barrier(8)

    def race(number: int) -> Manifest:
        barrier.wait(timeout=60)
        return put(store, f"rows {number}".encode(), note=str(number))

    with ThreadPoolExecutor(8) as pool:
        stand = list(pool.map(race, range(8)))
    assert all(manifest == stand[0] for manifest in stand)
    assert store.get("normalize", KEY) == stand[0]
    assert content_of(store, stand[0]) == f"rows {stand[0].facts['note']}".encode()


RACER = """
import sys
from pathlib import Path
from rollmill.store import FolderStore
sys.path.insert(0, sys.argv[3])
from tests.test_store import put
print(put(FolderStore(Path(sys.argv[1])), sys.argv[2].encode(), note=sys.argv[2]).facts["note"])
"""


def test_processes_that_race_agree(store: FolderStore) -> None:
    root = str(Path(__file__).parent.parent)
    racers = [
        subprocess.Popen([sys.executable, "-c", RACER, str(store.root), name, root], stdout=subprocess.PIPE, text=True)
        for name in ("one", "two", "three")
    ]
    told = [racer.communicate(timeout=120)[0].strip() for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0, 0]
    found = store.get("normalize", KEY)
    assert found is not None
    assert told == [found.facts["note"]] * 3
    assert content_of(store, found) == told[0].encode()


def test_a_manifest_without_its_payload_is_no_artifact(store: FolderStore) -> None:
    manifest = put(store, b"rows")
    store.object_path(manifest.payloads[0].sha256).unlink()
    assert store.get("normalize", KEY) is None
    mended = put(store, b"rows")
    assert store.get("normalize", KEY) == mended
    assert content_of(store, mended) == b"rows"


def test_a_truncated_object_is_mended_by_the_next_put(store: FolderStore) -> None:
    manifest = put(store, b"rows")
    store.object_path(manifest.payloads[0].sha256).write_bytes(b"ro")
    assert store.get("normalize", KEY) is None
    mended = put(store, b"rows")
    assert content_of(store, mended) == b"rows"
    assert store.get("normalize", KEY) is not None


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"{}", b'{"payloads": [{"x": 1}]}', b"\xff", b"null"])
def test_a_damaged_manifest_is_named(store: FolderStore, damage: bytes) -> None:
    put(store, b"rows")
    path = store.root / "artifacts" / "normalize" / f"{KEY}.json"
    path.write_bytes(damage)
    with pytest.raises(StoreError, match="damaged") as caught:
        store.get("normalize", KEY)
    assert str(path) in caught.value.message
    path.unlink()
    assert store.get("normalize", KEY) is None


def test_a_store_that_cannot_be_made_is_an_error_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    store = FolderStore(tmp_path / "file" / "store")
    with pytest.raises(StoreError, match="--store") as caught:
        store.prepare()
    assert str(store.root) in caught.value.message
    with pytest.raises(StoreError):
        put(store, b"rows")
    with pytest.raises(StoreError):
        store.get("normalize", KEY)


def test_an_object_that_cannot_be_placed_is_an_error_of_the_store(store: FolderStore) -> None:
    store.prepare()
    (store.root / "artifacts" / "normalize").write_text("in the way")
    with pytest.raises(StoreError, match="can't be written"):
        put(store, b"rows")


def test_scratch_is_removed_also_on_errors(store: FolderStore) -> None:
    with store.scratch() as folder:
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_text("work")
        assert folder.is_relative_to(store.root)
    with pytest.raises(IsADirectoryError), store.scratch() as folder:
        folder.write_text("work")
    put(store, b"rows")
    assert list((store.root / "scratch").iterdir()) == []


def test_an_artifact_whose_manifest_was_not_written_does_not_exist(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> Manifest:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(store, "_create", crash)
        with pytest.raises(KeyboardInterrupt):
            put(store, b"rows")
    assert store.get("normalize", KEY) is None
    assert list((store.root / "scratch").iterdir()) == []
    assert content_of(store, put(store, b"rows")) == b"rows"


def test_the_digest_of_a_sink_is_that_of_its_file(tmp_path: Path) -> None:
    sink = HashingSink(tmp_path / "file")
    for part in (b"", b"abc", memoryview(b"def"), bytearray(b"g")):
        assert sink.write(part) == len(part)
    assert sink.tell() == 7
    sink.close()
    assert (tmp_path / "file").read_bytes() == b"abcdefg"
    assert (sink.sha256, sink.bytes) == (hashlib.sha256(b"abcdefg").hexdigest(), 7)
