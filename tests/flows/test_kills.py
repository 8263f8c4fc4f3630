"""SIGKILL at seeded moments: readers see whole versions only, and the next run ends as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from rollmill.config import build_pipeline
from rollmill.generator import write_ppo_critic
from rollmill.publish import FolderDestination
from rollmill.report import Report
from rollmill.roots import refs
from rollmill.store import FolderStore
from rollmill.verify import verify

READER = """
import sys, json, os
os.environ["HF_HUB_OFFLINE"] = "1"
import datasets
datasets.disable_progress_bars()
print("ready", flush=True)
while True:
    rows = sum(1 for _ in datasets.load_dataset(sys.argv[1], split="train", streaming=True).select_columns(["row_id"]))
    print(rows, flush=True)
"""


@dataclass(frozen=True)
class World:
    """A source that has grown since its first version was published. `digests` and `rows` are of both versions."""

    root: Path
    digests: tuple[str, str]
    rows: tuple[int, int]

    @property
    def destination(self) -> FolderDestination:
        return FolderDestination(self.root / "out")

    @property
    def store(self) -> FolderStore:
        return FolderStore(self.root / "store")

    def arguments(self) -> list[str]:
        place = ["--to", str(self.root / "out"), "--store", str(self.root / "store")]
        return ["run", str(self.root / "critic"), *place]

    def run(self) -> Report:
        from rollmill.flows.launch import launch

        places = {"destination": str(self.root / "out"), "store": str(self.root / "store")}
        return launch(build_pipeline(name="out", sources=[{"uri": str(self.root / "critic")}], workers=2, **places))


@pytest.fixture(scope="module")
def grown(prefect_url: str, tmp_path_factory: pytest.TempPathFactory) -> World:
    """The state each round starts from: two of six splits published; and what the undisturbed run makes of the rest."""
    root = tmp_path_factory.mktemp("world")
    whole = write_ppo_critic(root / "whole", scale=0.01, splits=6)
    splits = sorted((whole / "data").iterdir())
    (root / "critic").mkdir()
    for path in splits[:2]:
        shutil.copy(path, root / "critic")
    first = World(root, ("", ""), (0, 0)).run()
    for path in splits[2:]:
        shutil.copy(path, root / "critic")
    undisturbed = World(root / "undisturbed", ("", ""), (0, 0))
    shutil.copytree(root / "critic", undisturbed.root / "critic")
    last = undisturbed.run()
    return World(root, (digest(first), digest(last)), (first.rows_written, last.rows_written))


def digest(report: Report) -> str:
    assert report.version is not None
    return str(report.version["digest"])


@pytest.fixture
def world(grown: World, tmp_path: Path) -> World:
    for name in ("critic", "store", "out"):
        shutil.copytree(grown.root / name, tmp_path / name)
    return World(tmp_path, grown.digests, grown.rows)


@contextmanager
def reading(world: World) -> Iterator[None]:
    """Load the dataset over and over; at the end, every load must have given one whole version."""
    environment = os.environ | {"HF_HOME": str(world.root / "hf")}
    command = [sys.executable, "-c", READER, str(world.root / "out")]
    reader = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"
        yield
        assert reader.poll() is None, reader.communicate()[1]
    finally:
        reader.kill()
        seen = reader.communicate()[0].split()
    assert seen, "the dataset was loaded at least once"
    assert {int(rows) for rows in seen} <= set(world.rows)


def kill_when(world: World, command: list[str], reached: Callable[[], bool], delay: float) -> None:
    """Start a command and kill it a moment after something is reached, or let it end if it never is."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rollmill.cli", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None and not reached():
        time.sleep(0.0005)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()


def count_of(folder: Path) -> int:
    return sum(1 for path in folder.rglob("*") if path.is_file())


def moments(world: World, chance: random.Random) -> Callable[[], bool]:
    """Choose a stage, and how much of it must be done."""
    folder = chance.choice(
        [world.root / "store" / "artifacts" / stage for stage in ("ingest", "validate", "normalize")]
        + [world.root / "store" / "scratch", world.root / "out" / "data", world.root / "out" / "versions"]
    )
    wanted = count_of(folder) + chance.randint(1, 3)
    return lambda: count_of(folder) >= wanted


def assert_kill_leaves_no_trace(world: World, seed: int) -> None:
    chance = random.Random(seed)
    with reading(world):
        kill_when(world, world.arguments(), moments(world, chance), chance.random() * 0.05)
        report = world.run()
    assert digest(report) == world.digests[1]
    assert (report.rows_in, report.rows_published) == (world.rows[1], world.rows[1])
    assert verify(world.root / "out").damaged == []
    assert verify(world.root / "store").damaged == []
    assert {ref.digest for ref in refs(world.store)} == set(world.digests)
    assert world.run().verdict == "unchanged"


@pytest.mark.flow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(5))
def test_a_killed_run_leaves_no_trace(world: World, seed: int) -> None:
    assert_kill_leaves_no_trace(world, seed)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(5, 25))
def test_many_killed_runs_leave_no_trace(world: World, seed: int) -> None:
    assert_kill_leaves_no_trace(world, seed)


@pytest.mark.flow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(2))
def test_a_killed_rollback_leaves_one_version(world: World, seed: int) -> None:
    world.run()
    readme = world.root / "out" / "README.md"
    before = readme.stat().st_mtime_ns
    with reading(world):
        delay = random.Random(seed).random() * 0.01
        kill_when(world, ["rollback", str(world.root / "out")], lambda: readme.stat().st_mtime_ns != before, delay)
        world.destination.rollback("out", 1)
    current = world.destination.current()
    assert current is not None
    assert (current.number, current.digest) == (1, world.digests[0])
    assert verify(world.root / "out").damaged == []
    assert digest(world.run()) == world.digests[1]


@pytest.mark.flow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(2))
def test_a_killed_prune_is_finished_by_the_next(world: World, seed: int) -> None:
    for path in (world.root / "store" / "refs").rglob("*.json"):
        path.unlink()
    manifests = world.root / "store" / "artifacts"
    before = count_of(manifests)
    command = ["prune", "--store", str(world.root / "store"), "--grace", "0"]
    kill_when(world, command, lambda: count_of(manifests) < before - seed, 0.0)
    assert count_of(manifests) < before
    done = subprocess.run([sys.executable, "-m", "rollmill.cli", *command], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert count_of(manifests) == count_of(world.root / "store" / "objects") == 0
    assert digest(world.run()) == world.digests[1]


@pytest.mark.flow
@pytest.mark.timeout(600)
def test_what_killed_runs_leave_is_cleared_up(world: World) -> None:
    kill_when(world, world.arguments(), lambda: count_of(world.root / "store" / "scratch") > 1, 0.0)
    left = list((world.root / "store" / "scratch").iterdir())
    for path in left:
        os.utime(path, (0, 0))
    world.run()
    assert left
    assert list((world.root / "store" / "scratch").iterdir()) == []
    assert list((world.root / "store" / "leases").iterdir()) == []


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("rounds", [pytest.param(2, marks=pytest.mark.flow), pytest.param(18, marks=pytest.mark.slow)])
def test_two_runs_at_once_make_one_version(world: World, rounds: int) -> None:
    for _ in range(rounds):
        report = world.root / "report.json"
        commands = [[*world.arguments(), "--json", f"{report}{i}"] for i in range(2)]
        runs = [
            subprocess.Popen([sys.executable, "-m", "rollmill.cli", *command], stderr=subprocess.PIPE, text=True)
            for command in commands
        ]
        said = [run.communicate()[1] for run in runs]
        assert [run.returncode for run in runs] == [0, 0], said
        found = [json.loads(Path(f"{report}{i}").read_text()) for i in range(2)]
        assert {one["version"]["digest"] for one in found} == {world.digests[1]}
        world.destination.rollback("out", 1)
