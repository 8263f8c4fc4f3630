"""A disk that is full: a clear error, nothing damaged, and the next run completes. On a small file system in memory."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rollmill.generator import write_prompt_response

pytestmark = [pytest.mark.flow, pytest.mark.timeout(600)]
NAMESPACE = ["unshare", "--mount", "--map-root-user"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """About 9 MB of source data."""
    return write_prompt_response(tmp_path_factory.mktemp("source") / "lab", scale=0.05)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Where a file system of 2 MB will be mounted, seen by the script alone."""
    try:
        subprocess.run([*NAMESPACE, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this system lets tests mount nothing")
    (tmp_path / "small").mkdir()
    return tmp_path / "small"


def script(small: Path, lab: Path, *, store: Path, out: Path) -> list[list[str]]:
    """Run on a full disk, verify what is there, make room, run again. Gives exit code and errors of each step."""
    rollmill = [sys.executable, "-m", "rollmill.cli"]
    run = [*rollmill, "run", str(lab), "--to", str(out), "--store", str(store), "--name", "lab"]
    steps = [
        run,
        [*rollmill, "verify", str(store)],
        ["mount", "-o", "remount,size=100m", str(small)],
        run,
        [*rollmill, "verify", str(out)],
    ]
    lines = [f"mount -t tmpfs -o size=2m tmpfs {shlex.quote(str(small))}"]
    lines += [f'said=$({shlex.join(step)} 2>&1 >/dev/null); echo "$?|"$said' for step in steps]
    environment = os.environ | {"NO_COLOR": "1"}
    command = [*NAMESPACE, "sh", "-c", "\n".join(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return [line.split("|", 1) for line in done.stdout.splitlines()]


def test_no_room_for_the_store(small: Path, lab: Path, tmp_path: Path) -> None:
    full, verified, _, again, published = script(small, lab, store=small / "store", out=tmp_path / "out")
    assert full[0] == "4"
    assert "store can't be written" in full[1]
    assert "No space left on device. Make room, or name another folder with --store." in full[1]
    assert "Traceback" not in full[1]
    assert [step[0] for step in (verified, again, published)] == ["0", "0", "0"]


def test_no_room_at_the_destination(small: Path, lab: Path, tmp_path: Path) -> None:
    full, verified, _, again, published = script(small, lab, store=tmp_path / "store", out=small / "out")
    assert full[0] == "4"
    assert "the disk is full. The published version is unchanged." in full[1]
    assert "Traceback" not in full[1]
    assert [step[0] for step in (verified, again, published)] == ["0", "0", "0"]
