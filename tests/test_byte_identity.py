"""The same rows give the same bytes: pinned per layout, and whatever machine part or worker count made them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rollmill.generator import write_act_prm, write_ppo_critic, write_prompt_response
from tests.conftest import Mill

Writer = Callable[[Path], Path]
WRITERS: dict[str, Writer] = {
    "act_prm": lambda folder: write_act_prm(folder, scale=0.01, hide_observations=False),
    "ppo_critic": lambda folder: write_ppo_critic(folder, scale=0.001, splits=2),
    "prompt_response": lambda folder: write_prompt_response(folder, scale=0.005),
}
GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text())


@pytest.mark.parametrize("layout", sorted(WRITERS))
def test_the_data_files_of_a_layout_are_those_of_its_version(layout: str, mill: Mill, tmp_path: Path) -> None:
    """With the pinned libraries. When this changes, a version number in the keys goes up, and golden.json with it."""
    milled = mill(WRITERS[layout](tmp_path / "lab"))
    assert [file.sha256 for file in milled.version.files] == GOLDEN[layout]


PROGRAM = """
import json, sys
from pathlib import Path
from tests.conftest import Mill
root, source = Path(sys.argv[1]), Path(sys.argv[2])
print(json.dumps([file.sha256 for file in Mill(root)(source).version.files]))
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processors can't be chosen here")
@pytest.mark.parametrize("layout", ["act_prm", "prompt_response"])
def test_one_processor_gives_the_bytes_of_all(layout: str, mill: Mill, tmp_path: Path) -> None:
    source = WRITERS[layout](tmp_path / "lab")
    one = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "one"), str(source)],
        cwd=Path(__file__).parents[1],
        env=os.environ | {"POLARS_MAX_THREADS": "1"},
        preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(one.stdout) == [file.sha256 for file in mill(source).version.files]


def test_a_split_more_leaves_all_other_files_alone(mill: Mill, tmp_path: Path) -> None:
    folder = tmp_path / "critic"
    options: dict[str, Any] = {"destination": str(tmp_path / "out"), "store": str(tmp_path / "store")}
    write_ppo_critic(folder, scale=0.001, splits=5)
    first = mill(folder, **options)
    published = first.destination.path / "data"
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in published.rglob("*.parquet")}
    keys = {unit.unit.split: (unit.validate_key, unit.normalize_key) for unit in first.plan.units}

    write_ppo_critic(folder, scale=0.001, splits=6)
    second = mill(folder, **options)
    later = {unit.unit.split: (unit.validate_key, unit.normalize_key) for unit in second.plan.units}
    assert len(later) == 6
    assert {split: later[split] for split in keys} == keys
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in before} == before
    assert len(list(published.rglob("*.parquet"))) == 6
    assert (first.outcome.number, second.outcome.number, second.outcome.files_written) == (1, 2, 1)
