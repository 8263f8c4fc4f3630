"""A publish that dies at any step leaves readers one whole version; the next run ends as if nothing had happened."""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rollmill.publish import FolderDestination
from rollmill.publish.card import read_identity

if TYPE_CHECKING:
    from tests.publish.conftest import Mill, Tree

STEPS = ("mkdir", "open", "fsync", "replace", "copy_file_range")


class KilledError(BaseException):
    """Stands for a process that is gone: nothing of it runs any more, no clean-up either."""


def interrupt(patch: pytest.MonkeyPatch, at: int, after_each: Callable[[], None] = lambda: None) -> list[str]:
    """Let the `at`-th change of the file system raise, and all later ones with it. Gives the steps taken."""
    taken: list[str] = []

    def stepping(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **options: Any) -> Any:
            if name == "open" and not arguments[1] & os.O_CREAT:
                return real(*arguments, **options)
            after_each()
            if len(taken) >= at:
                raise KilledError(name)
            taken.append(name)
            return real(*arguments, **options)

        return step

    for name in (*STEPS, "unlink", "rmdir"):
        patch.setattr(os, name, stepping(name, getattr(os, name)))
    return taken


def assert_one_whole_version(root: Path) -> None:
    """Check what readers follow: every file that README.md and current.json name is there."""
    readme, current = root / "README.md", root / "current.json"
    if readme.exists():
        paths = re.findall(r"(?m)^ +- (data/\S+)$", readme.read_text())
        assert paths
        assert all((root / path).stat().st_size for path in paths)
    if current.exists():
        manifest = json.loads((root / json.loads(current.read_bytes())["manifest"]).read_bytes())
        assert all((root / file["path"]).stat().st_size == file["bytes"] for file in manifest["files"])


def steps_of(make: Callable[[FolderDestination], object], root: Path) -> int:
    with pytest.MonkeyPatch.context() as patch:
        taken = interrupt(patch, at=10**9)
        make(FolderDestination(root))
    assert {"mkdir", "fsync", "replace"} <= set(taken)
    return len(taken)


def grown(filled: Mill) -> Mill:
    more = copy.deepcopy(filled)
    more.add("alpha", "train_3", 2)
    return more


@pytest.fixture
def roots(tmp_path: Path) -> Iterator[Path]:
    return (tmp_path / f"dest{number}" for number in range(10**6))


def test_every_rename_is_of_synced_bytes_and_current_json_comes_last(
    filled: Mill, roots: Iterator[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[int] = set()
    renamed: list[str] = []
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        real_fsync(descriptor)

    def replace(source: Path, target: Path) -> None:
        assert os.stat(source).st_ino in synced  # noqa: PTH116
        real_replace(source, target)
        renamed.append(Path(target).name)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    root = next(roots)
    filled.publish(FolderDestination(root))
    assert renamed[0] == ".rollmill"
    assert renamed[-3:] == ["manifest.json", "README.md", "current.json"]
    folders = {path.stat().st_ino for path in [root, *root.rglob("*")] if path.is_dir()}
    assert folders <= synced


def test_first_publish_interrupted_at_every_step(filled: Mill, roots: Iterator[Path], tree: Tree) -> None:
    undisturbed = next(roots)
    total = steps_of(filled.publish, undisturbed)
    for at in range(total):
        root = next(roots)
        with pytest.MonkeyPatch.context() as patch:
            interrupt(patch, at, lambda root=root: assert_one_whole_version(root))  # type: ignore[misc]
            with pytest.raises(KilledError):
                filled.publish(FolderDestination(root))
        assert filled.publish(FolderDestination(root)).number == 1
        assert tree(root) == tree(undisturbed)


def test_second_publish_interrupted_at_every_step(filled: Mill, roots: Iterator[Path], tree: Tree) -> None:
    undisturbed, more = next(roots), grown(filled)
    filled.publish(FolderDestination(undisturbed))
    total = steps_of(more.publish, undisturbed)
    for at in range(total):
        root = next(roots)
        filled.publish(FolderDestination(root))
        with pytest.MonkeyPatch.context() as patch:
            interrupt(patch, at, lambda root=root: assert_one_whole_version(root))  # type: ignore[misc]
            with pytest.raises(KilledError):
                more.publish(FolderDestination(root))
        assert_one_whole_version(root)
        assert more.publish(FolderDestination(root)).number == 2
        assert not (root / ".rollmill.tmp").exists()
        assert tree(root) == tree(undisturbed)


def test_an_interrupted_version_is_taken_back_when_the_old_content_returns(filled: Mill, roots: Iterator[Path]) -> None:
    """README.md may name the version that was not committed: repaired before anything else."""
    more, repaired = grown(filled), 0
    probe = next(roots)
    filled.publish(FolderDestination(probe))
    total = steps_of(more.publish, probe)
    for at in range(total):
        destination = FolderDestination(next(roots))
        first = filled.publish(destination)
        with pytest.MonkeyPatch.context() as patch:
            interrupt(patch, at)
            with pytest.raises(KilledError):
                more.publish(destination)
        before = destination.current()
        assert before is not None
        repaired += destination.repair("mill")
        assert read_identity((destination.path / "README.md").read_bytes()) == (before.number, before.digest)
        if before.number == 1:
            assert filled.publish(destination).unchanged
            assert destination.read_manifest().digest == first.digest
    assert repaired
