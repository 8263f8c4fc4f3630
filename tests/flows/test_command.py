"""The command as a process: exit codes, what it reads, what it leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollmill.generator import write_prompt_response

ROLLMILL = [sys.executable, "-m", "rollmill.cli"]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment without a configured server, all of its data in tmp_path but the cache shared by the tests."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT") and k != "COLUMNS"}
    return kept | {"PREFECT_HOME": str(tmp_path / "prefect"), "XDG_DATA_HOME": str(tmp_path / "data"), "NO_COLOR": "1"}


def rollmill(*arguments: object, env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [*ROLLMILL, *map(str, arguments)]
    return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, check=False)


def files_under(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(p): (p.stat().st_mtime_ns, p.stat().st_size) for p in folder.rglob("*") if p.is_file()}


@pytest.mark.flow
def test_run_again_opens_no_data_file_and_writes_nothing(tmp_path: Path, env: dict[str, str]) -> None:
    source = write_prompt_response(tmp_path / "lab", scale=0.001)
    arguments = ("run", source, "--to", tmp_path / "out", "--store", tmp_path / "store", "--json", tmp_path / "r.json")
    first = rollmill(*arguments, env=env, cwd=tmp_path)
    assert (first.returncode, first.stderr) == (0, "")
    assert "17 in = 17 published" in first.stdout
    before = files_under(tmp_path / "store" / "artifacts") | files_under(tmp_path / "store" / "objects")
    published = files_under(tmp_path / "out")
    # The process runs once to have all modules imported, gives up root if it has it, and runs again.
    code = """
import os, sys, pathlib
from rollmill.cli import _exit_code
root, arguments = pathlib.Path(sys.argv[1]), sys.argv[2:]
sys.argv = ["rollmill", *arguments]
assert _exit_code() == 0
for path in [*(root / "lab" / "data").iterdir()]:
    path.chmod(0)
if os.geteuid() == 0:
    for path in [root, *root.rglob("*")]:
        os.chown(path, 65534, 65534)
    os.setgid(65534); os.setuid(65534)
try:
    next((root / "lab" / "data").iterdir()).open().close()
except PermissionError:
    sys.exit(_exit_code())
sys.exit(99)
"""
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o755)
    command = [sys.executable, "-c", code, str(tmp_path), *map(str, arguments)]
    again = subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd="/")
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.count("unchanged version 1") == 2
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["verdict"], report["rows_published"]) == ("unchanged", 17)
    assert [stage["bytes_read"] for stage in report["stages"].values()] == [0, 0, 0, 0]
    assert files_under(tmp_path / "store" / "artifacts") | files_under(tmp_path / "store" / "objects") == before
    assert files_under(tmp_path / "out") == published


@pytest.mark.flow
def test_refused_data_exit_with_3_and_the_report_says_why(tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / "lab").mkdir()
    pq.write_table(pa.table({"prompt": ["p"] * 3, "response": ["", " ", None]}), tmp_path / "lab" / "train.parquet")
    done = rollmill("run", "lab", "--to", "out", "--store", "store", "--json", "r.json", env=env, cwd=tmp_path)
    assert done.returncode == 3
    assert "empty_response 3" in done.stderr
    assert "Traceback" not in done.stderr
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["verdict"], report["rows_in"], report["version"]) == ("refused", 3, None)
    assert (report["error"]["kind"], report["error"]["file"]) == ("quarantine_limit", "train.parquet")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("run", "nowhere", "--to", "out"), 4, "nowhere"),
        (("run", "lab"), 2, "--to"),
        (("run", "lab", "--to", "out", "--max-quarantine", "7"), 2, "max_quarantine"),
        (("run", "lab", "--to", "out", "--nonsense"), 2, "--nonsense"),
        (("run", "lab", "--to", "out", "--layout", "prompt_responce"), 2, "prompt_response"),
        (("run", "lab", "--to", "s3://bucket/x"), 2, "s3://"),
        (("run", "pipeline.yaml"), 2, "line 3"),
        (("run", "empty", "--to", "out"), 3, "no data file"),
        (("run", "lab", "--to", "foreign"), 4, "foreign"),
        (("restore", "out", "--source", "lab", "--out", "x.parquet"), 4, "out"),
    ],
)
def test_mistakes_exit_at_once_with_a_code_that_means_something(
    arguments: tuple[str, ...], code: int, said: str, tmp_path: Path, env: dict[str, str]
) -> None:
    write_prompt_response(tmp_path / "lab", scale=0.001)
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.tex").write_text("mine")
    (tmp_path / "pipeline.yaml").write_text("name: x\ndestination: out\nsource:\n- uri: lab\n")
    done = rollmill(*arguments, env=env, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "foreign" / "thesis.tex").read_text() == "mine"


@pytest.mark.flow
@pytest.mark.parametrize("signal_sent", [signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_a_run(signal_sent: int, tmp_path: Path, env: dict[str, str]) -> None:
    source = write_prompt_response(tmp_path / "lab", scale=0.001)
    command = [*ROLLMILL, "run", str(source), "--to", str(tmp_path / "out"), "--store", str(tmp_path / "store")]
    run = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    children: list[psutil.Process] = []
    while not children and run.poll() is None:
        children = psutil.Process(run.pid).children(recursive=True)
    assert children
    run.send_signal(signal_sent)
    _, said = run.communicate(timeout=120)
    assert run.returncode == (130 if signal_sent == signal.SIGINT else -signal.SIGKILL)
    assert "Traceback" not in said
    _, alive = psutil.wait_procs(children, timeout=120)
    assert alive == []


@pytest.fixture
def stale(tmp_path: Path) -> Path:
    """A source whose card declares one record more than there is."""
    source = write_prompt_response(tmp_path / "lab", scale=0.001)
    card = source / "README.md"
    card.write_text(card.read_text().replace("num_examples: 17", "num_examples: 18"))
    return source


@pytest.mark.flow
def test_a_stale_card_is_a_note_and_with_strictness_a_refusal(tmp_path: Path, stale: Path, env: dict[str, str]) -> None:
    arguments = ("run", stale, "--to", "out", "--store", "store", "--json", "r.json")
    said = "lab: README.md declares train.num_examples = 18, the files hold 17 (records)."
    strict = rollmill(*arguments, "--strict-card", env=env, cwd=tmp_path)
    assert (strict.returncode, said in strict.stderr, (tmp_path / "out").exists()) == (3, True, False)
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["verdict"], report["error"]["kind"], report["error"]["file"]) == ("refused", "drift", "README.md")
    loose = rollmill(*arguments, env=env, cwd=tmp_path)
    assert (loose.returncode, loose.stderr) == (0, f"note {said}\n")
    published = files_under(tmp_path / "out")
    again = rollmill(*arguments, "--strict-card", env=env, cwd=tmp_path)
    assert (again.returncode, said in again.stderr) == (3, True)
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["verdict"], report["rows_in"], report["declared_vs_observed"] != []) == ("refused", 17, True)
    assert files_under(tmp_path / "out") == published


def test_a_flag_beside_a_pipeline_file_leaves_the_other_limits_alone(
    tmp_path: Path, stale: Path, env: dict[str, str]
) -> None:
    file = tmp_path / "pipeline.yaml"
    file.write_text("name: x\nsources: [{uri: lab}]\ndestination: out\nstore: store\nvalidation: {strict_card: true}\n")
    done = rollmill("plan", file, "--max-quarantine", "0.5", env=env, cwd=tmp_path)
    assert done.returncode == 0
    assert "note a run would be refused: What is declared differs" in done.stderr
    file.write_text(file.read_text().replace("strict_card: true", "max_quarantine: 0.5"))
    assert "would be refused" in rollmill("plan", file, "--strict-card", env=env, cwd=tmp_path).stderr
    assert "would be refused" not in rollmill("plan", file, env=env, cwd=tmp_path).stderr
