from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

from rollmill.errors import (
    AccessError,
    DestinationConflictError,
    ForeignDestinationError,
    NothingToReadError,
    ShrinkError,
    StoreError,
)
from rollmill.publish import DataFile, FolderDestination, VersionManifest

if TYPE_CHECKING:
    from tests.publish.conftest import Mill, Tree


def stamps(root: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in [root, *root.rglob("*")]}


def test_first_publish(filled: Mill, destination: FolderDestination) -> None:
    assert destination.check("mill") is None
    seen: list[tuple[DataFile, bool]] = []
    outcome = filled.publish(destination, on_file=lambda file, copied: seen.append((file, copied)))
    manifest = filled.manifest()
    assert (outcome.number, outcome.digest, outcome.unchanged) == (1, manifest.digest, False)
    assert (outcome.files_written, outcome.bytes_written) == (4, sum(file.bytes for file in filled.files))
    assert seen == [(file, True) for file in filled.files]
    current = destination.current()
    assert current is not None
    assert (current.pipeline, current.number, current.parent) == ("mill", 1, None)
    assert destination.read_manifest() == destination.read_manifest(1) == manifest
    for file in manifest.files:
        assert destination.data_path(file).read_bytes() == (filled.store / file.sha256).read_bytes()
    folder = destination.path / current.manifest
    assert json.loads((folder.parent / "report.json").read_bytes()) == {"number": 1}
    assert (folder.parent / "README.md").read_bytes() == (destination.path / "README.md").read_bytes()


def test_publishing_again_touches_nothing(filled: Mill, destination: FolderDestination) -> None:
    first = filled.publish(destination)
    before = stamps(destination.path)
    again = filled.publish(destination)
    assert (again.number, again.digest, again.unchanged) == (1, first.digest, True)
    assert (again.files_written, again.bytes_written) == (0, 0)
    assert stamps(destination.path) == before


def test_unchanged_holds_against_any_expectation(filled: Mill, destination: FolderDestination) -> None:
    filled.publish(destination)
    assert filled.publish(destination, expected_parent="another").unchanged


def test_growth_leaves_published_files_alone(filled: Mill, destination: FolderDestination) -> None:
    first = filled.publish(destination)
    before = {file.path: destination.data_path(file).stat().st_mtime_ns for file in filled.files}
    filled.add("alpha", "train_3", 2)
    second = filled.publish(destination)
    assert (second.number, second.files_written) == (2, 1)
    assert {path: (destination.path / path).stat().st_mtime_ns for path in before} == before
    current = destination.current()
    assert current is not None
    assert current.parent == first.digest
    assert current.history == ((1, first.digest), (2, second.digest))
    assert destination.read_manifest(1).digest == first.digest


def test_editing_a_published_file_leaves_the_store_alone(filled: Mill, destination: FolderDestination) -> None:
    filled.publish(destination)
    file = filled.files[0]
    kept = (filled.store / file.sha256).read_bytes()
    destination.data_path(file).write_bytes(b"edited")
    assert (filled.store / file.sha256).read_bytes() == kept


def test_a_missing_or_short_data_file_is_put_back(filled: Mill, destination: FolderDestination) -> None:
    filled.publish(destination)
    destination.data_path(filled.files[0]).unlink()
    destination.data_path(filled.files[1]).write_bytes(b"short")
    outcome = filled.publish(destination)
    assert (outcome.number, outcome.unchanged, outcome.files_written) == (1, True, 2)
    assert destination.data_path(filled.files[1]).stat().st_size == filled.files[1].bytes


def test_a_foreign_folder_is_untouched(filled: Mill, destination: FolderDestination, tree: Tree) -> None:
    destination.path.mkdir()
    for name in "abcdefg":
        (destination.path / name).write_text(name)
    before = tree(destination.path)
    with pytest.raises(ForeignDestinationError, match=r"'a', 'b', 'c', 'd', 'e' and 2 more"):
        destination.check("mill")
    with pytest.raises(ForeignDestinationError) as caught:
        filled.publish(destination, expected_parent=None)
    assert caught.value.exit_code == 4
    assert tree(destination.path) == before


@pytest.mark.parametrize(
    "content", [b"{}", b"not json", b'{"format":"other@1"}', b'{"format":"rollmill-destination@1"}']
)
def test_a_foreign_current_json_is_refused(filled: Mill, destination: FolderDestination, content: bytes) -> None:
    destination.path.mkdir()
    (destination.path / "current.json").write_bytes(content)
    with pytest.raises(ForeignDestinationError, match=r"current\.json"):
        filled.publish(destination, expected_parent=None)


def test_a_newer_format_is_refused(filled: Mill, destination: FolderDestination) -> None:
    destination.path.mkdir()
    (destination.path / "current.json").write_text('{"format":"rollmill-destination@2"}')
    with pytest.raises(AccessError, match="Update Rollmill"):
        destination.current()


def test_a_file_is_no_destination(filled: Mill, destination: FolderDestination) -> None:
    destination.path.write_text("mine")
    with pytest.raises(ForeignDestinationError, match="is a file"):
        filled.publish(destination, expected_parent=None)
    assert destination.path.read_text() == "mine"


def test_below_a_file_is_no_destination(filled: Mill, destination: FolderDestination) -> None:
    destination.path.write_text("mine")
    with pytest.raises(AccessError, match="destination"):
        filled.publish(FolderDestination(destination.path / "below"), expected_parent=None)


@pytest.mark.parametrize("name", [".DS_Store", ".rollmill.lock", "lost+found"])
def test_an_empty_folder_with_marks_of_the_system_is_free(
    filled: Mill, destination: FolderDestination, name: str
) -> None:
    destination.path.mkdir()
    (destination.path / name).write_bytes(b"")
    assert filled.publish(destination).number == 1


def test_another_pipeline_is_refused(filled: Mill, destination: FolderDestination, tree: Tree) -> None:
    filled.publish(destination)
    before = tree(destination.path)
    manifest = filled.manifest("other")
    with pytest.raises(ForeignDestinationError, match=r"'mill'.*'other'"):
        destination.publish(manifest, lambda _: {}, filled.store.joinpath, expected_parent=None)
    assert tree(destination.path) == before


def test_another_pipelines_interrupted_first_publish_is_refused(filled: Mill, destination: FolderDestination) -> None:
    def failing(_: str) -> Path:
        raise StoreError("gone")

    with pytest.raises(StoreError):
        destination.publish(filled.manifest("other"), lambda _: {}, failing, expected_parent=None)
    with pytest.raises(ForeignDestinationError, match=r"'other'.*'mill'"):
        filled.publish(destination)


def test_a_lost_current_json_is_not_papered_over(filled: Mill, destination: FolderDestination) -> None:
    filled.publish(destination)
    filled.add("alpha", "train_3", 2)
    filled.publish(destination)
    (destination.path / "current.json").unlink()
    with pytest.raises(AccessError, match=r"has 2 versions and no current\.json"):
        destination.check("mill")


def test_shrinking_needs_leave(filled: Mill, destination: FolderDestination) -> None:
    filled.publish(destination)
    filled.only(1)
    with pytest.raises(ShrinkError) as caught:
        filled.publish(destination)
    for part in ("'train_1' had 5", "would have 3", "'train_2' (2 records) is gone", "'owner/Beta'", "--allow-shrink"):
        assert part in str(caught.value)
    assert "'empty'" not in str(caught.value)
    current = destination.current()
    assert current is not None
    assert current.number == 1
    assert filled.publish(destination, allow_shrink=True).number == 2


def test_a_conflict_is_noticed(filled: Mill, destination: FolderDestination) -> None:
    filled.publish(destination)
    filled.add("alpha", "train_3", 2)
    with pytest.raises(DestinationConflictError, match="moved while"):
        filled.publish(destination, expected_parent=None)


def test_a_first_version_planned_against_another_touches_nothing(filled: Mill, destination: FolderDestination) -> None:
    with pytest.raises(DestinationConflictError, match="finds no version"):
        filled.publish(destination, expected_parent="f" * 64)
    assert destination.current() is None


def test_one_publisher_at_a_time(filled: Mill, destination: FolderDestination) -> None:
    destination.path.mkdir()
    with (
        FileLock(destination.path / ".rollmill.lock"),
        pytest.raises(DestinationConflictError, match="Another run"),
    ):
        filled.publish(destination)


def test_nothing_to_publish(mill: Mill, destination: FolderDestination) -> None:
    mill.add("alpha", "empty", 0)
    with pytest.raises(NothingToReadError):
        mill.publish(destination)
    assert not destination.path.exists()


def test_a_damaged_store_is_named(filled: Mill, destination: FolderDestination) -> None:
    (filled.store / filled.files[1].sha256).write_bytes(b"short")
    with pytest.raises(StoreError, match="damaged"):
        filled.publish(destination)
    (filled.store / filled.files[1].sha256).unlink()
    with pytest.raises(StoreError, match="can't be read"):
        filled.publish(destination)
    assert destination.current() is None


def test_a_full_disk_is_said_and_leaves_no_temporary_file(
    filled: Mill, destination: FolderDestination, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "copy_file_range", full, raising=False)
        with pytest.raises(AccessError, match="the disk is full"):
            filled.publish(destination)
    assert [path for path in destination.path.rglob("*") if ".tmp" in str(path) and path.is_file()] == []
    assert filled.publish(destination).number == 1


def test_copying_works_without_copy_file_range(
    filled: Mill, destination: FolderDestination, monkeypatch: pytest.MonkeyPatch
) -> None:
    def elsewhere(*_: object) -> int:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "copy_file_range", elsewhere, raising=False)
    filled.publish(destination)
    file = filled.files[0]
    assert destination.data_path(file).read_bytes() == (filled.store / file.sha256).read_bytes()


def test_no_permission_is_said(filled: Mill, destination: FolderDestination, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(AccessError, match="no permission"):
        destination.check("mill")
    with pytest.raises(AccessError, match="no permission"):
        filled.publish(destination)


def test_a_hand_edited_readme_is_kept_until_the_next_version(filled: Mill, destination: FolderDestination) -> None:
    first = filled.publish(destination)
    readme = destination.path / "README.md"
    edited = readme.read_bytes() + b"\nMy words.\n"
    readme.write_bytes(edited)
    assert not destination.repair("mill")
    assert filled.publish(destination).unchanged
    assert readme.read_bytes() == edited
    filled.add("alpha", "train_3", 2)
    filled.publish(destination)
    assert b"My words" not in readme.read_bytes()
    kept = destination.path / f"versions/1-{first.digest[:12]}/README.edited.md"
    assert kept.read_bytes() == edited


@pytest.mark.parametrize("lost", [None, b"# nothing of ours\n"])
def test_a_lost_readme_is_repaired(filled: Mill, destination: FolderDestination, lost: bytes | None) -> None:
    filled.publish(destination)
    readme = destination.path / "README.md"
    good = readme.read_bytes()
    if lost is None:
        readme.unlink()
    else:
        readme.write_bytes(lost)
    assert destination.repair("mill")
    assert readme.read_bytes() == good
    assert not destination.repair("mill")
    readme.unlink()
    assert filled.publish(destination).unchanged
    assert readme.read_bytes() == good


def test_rollback_and_the_version_after_it(filled: Mill, destination: FolderDestination) -> None:
    first = filled.publish(destination)
    filled.add("alpha", "train_3", 2)
    second = filled.publish(destination)
    assert destination.rollback("mill", 1).digest == first.digest
    assert destination.read_manifest().digest == first.digest
    assert first.digest.encode() in (destination.path / "README.md").read_bytes()
    assert filled.publish(destination).number == 3
    assert destination.read_manifest(2).digest == destination.read_manifest(3).digest == second.digest
    with pytest.raises(AccessError, match=r"no version 9. It has: 1, 2, 3"):
        destination.rollback("mill", 9)


def test_rollback_to_what_is_not_whole_is_refused(filled: Mill, destination: FolderDestination) -> None:
    filled.publish(destination)
    destination.data_path(filled.files[0]).unlink()
    with pytest.raises(AccessError, match="not whole"):
        destination.rollback("mill", 1)
    with pytest.raises(AccessError, match="no version yet"):
        FolderDestination(destination.path / "none").rollback("mill", 1)
    assert not (destination.path / "none").exists()


def test_a_damaged_version_manifest_is_named(filled: Mill, destination: FolderDestination) -> None:
    filled.publish(destination)
    current = destination.current()
    assert current is not None
    (destination.path / current.manifest).write_bytes(b"{}")
    with pytest.raises(AccessError, match=r"manifest\.json can't be read"):
        destination.read_manifest()


def test_reading_a_destination_without_version(destination: FolderDestination) -> None:
    assert destination.current() is None
    with pytest.raises(AccessError, match="no version yet"):
        destination.read_manifest()


@pytest.mark.parametrize("name", ["../x", "a|b", "<script>", "two\nlines", "con", "\ud800"])
def test_hostile_names_stay_inside(mill: Mill, destination: FolderDestination, name: str) -> None:
    mill.add(name, name, 2, config=name)
    mill.publish(destination)
    again = VersionManifest.from_json(destination.read_manifest().to_json())
    assert (again.files[0].source, again.files[0].split) == (name, name)
    path = destination.data_path(again.files[0]).resolve()
    assert path.is_relative_to(destination.path.resolve() / "data")
    assert path.is_file()
