from pathlib import Path

import pytest

from rollmill.errors import AccessError, StoreError
from rollmill.publish import FolderDestination
from rollmill.verify import verify
from tests.conftest import Mill, Milled, write_lines


@pytest.fixture
def milled(mill: Mill, tmp_path: Path) -> Milled:
    return again(mill, tmp_path)


def again(mill: Mill, tmp_path: Path) -> Milled:
    for split, count in (("train", 3), ("test", 2)):
        lines = [{"prompt": f"{split} {i}", "response": "r" * i} for i in range(count)]
        write_lines(tmp_path / "lab" / f"{split}.jsonl", lines)
    return mill(tmp_path / "lab")


def flip(path: Path) -> None:
    """Change one bit in the middle; size stays."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_sound_ones_are_read_whole(milled: Milled) -> None:
    published = verify(milled.destination.path)
    assert (published.files, published.damaged) == (3, []), "two data files and a manifest"
    assert published.bytes == sum(file.bytes for file in milled.version.files)
    stored = verify(milled.store.root)
    assert stored.damaged == []
    assert stored.bytes == sum(path.stat().st_size for path in (milled.store.root / "objects").iterdir())


def test_a_flipped_byte_in_a_data_file_is_named_and_mended_by_the_next_run(
    milled: Milled, mill: Mill, tmp_path: Path
) -> None:
    file = milled.version.files[1]
    path = milled.destination.data_path(file)
    sound = path.read_bytes()
    flip(path)
    (damage,) = verify(milled.destination.path).damaged
    assert damage.path == file.path
    assert damage.what.startswith("its content has changed")
    assert not milled.destination.holds(milled.version)
    mended = again(mill, tmp_path).outcome
    assert (mended.unchanged, mended.files_written) == (True, 1)
    assert path.read_bytes() == sound
    assert verify(milled.destination.path).damaged == []
    assert milled.destination.holds(milled.version)


def test_a_missing_data_file_is_named(milled: Milled) -> None:
    milled.destination.data_path(milled.version.files[0]).unlink()
    (damage,) = verify(milled.destination.path).damaged
    assert (damage.path, damage.what) == (milled.version.files[0].path, "it is missing")


def test_damage_is_not_mended_with_damaged_bytes(milled: Milled, mill: Mill, tmp_path: Path) -> None:
    file = milled.version.files[0]
    for path in (milled.destination.data_path(file), milled.store.object_path(file.sha256)):
        flip(path)
    verify(milled.destination.path)
    with pytest.raises(StoreError, match=r"so is its copy in the store.*rollmill verify"):
        again(mill, tmp_path)
    assert [damage.path for damage in verify(milled.store.root).damaged] == [f"objects/{file.sha256}"]
    again(mill, tmp_path)
    assert verify(milled.destination.path).damaged == verify(milled.store.root).damaged == []


def test_damage_in_a_store_is_named_and_made_again(milled: Milled, mill: Mill, tmp_path: Path) -> None:
    flip(milled.store.object_path(milled.version.files[0].sha256))
    key = milled.plan.units[1].validate_key
    manifest = milled.store.root / "artifacts" / "validate" / f"{key}.json"
    manifest.write_bytes(b"[]")
    found = {damage.path: damage.what for damage in verify(milled.store.root).damaged}
    assert found.pop(f"artifacts/validate/{key}.json") == "it is no manifest"
    assert found.pop(f"objects/{milled.version.files[0].sha256}").startswith("its content has changed")
    assert found == {}
    assert len(list((milled.store.root / "damaged").iterdir())) == 2
    assert again(mill, tmp_path).outcome.unchanged
    assert verify(milled.store.root).damaged == []


def test_a_damaged_version_manifest_is_named(milled: Milled) -> None:
    current = milled.destination.current()
    assert current is not None
    flip(milled.destination.path / current.manifest)
    (damage,) = verify(milled.destination.path).damaged
    assert damage.path == current.manifest
    assert "its checksum does not fit" in damage.what


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AccessError, match=r"neither a published dataset .* nor a store"):
        verify(tmp_path)


def test_a_kept_version_is_not_rolled_back_to_when_damaged(milled: Milled, mill: Mill, tmp_path: Path) -> None:
    write_lines(tmp_path / "lab" / "train.jsonl", [{"prompt": "new", "response": "r"} for _ in range(4)])
    mill(tmp_path / "lab")
    file = milled.version.files[1]
    flip(milled.destination.data_path(file))
    verify(milled.destination.path)
    with pytest.raises(AccessError, match="missing or damaged"):
        FolderDestination(milled.destination.path).rollback("mill", 1)
