"""What can go wrong, by the heading of docs/errors.md that explains it: each makes the error that is shown there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from filelock import FileLock

from rollmill.config import load_pipeline
from rollmill.differences import differences
from rollmill.errors import RollmillError
from rollmill.lookup import find_row
from rollmill.pruning import prune
from rollmill.publish import FolderDestination
from rollmill.publish.checks import check_growth
from rollmill.publish.occupancy import LOCK
from rollmill.roots import held
from rollmill.verify import verify
from tests.conftest import Mill, Milled, write_lines, write_parquet

Mistake = Callable[[Mill, Path], Any]
MISTAKES: dict[str, Mistake] = {}
GOOD = {"prompt": "p", "response": "r", "reward": 1.0}


def shows(heading: str) -> Callable[[Mistake], Mistake]:
    """Register a mistake under its heading."""

    def register(make: Mistake) -> Mistake:
        MISTAKES[heading] = make
        return make

    return register


def message_of(heading: str, mill: Mill, root: Path) -> str:
    """Make the mistake, and give the message with what differs from run to run taken out."""
    with pytest.raises(RollmillError) as caught:
        MISTAKES[heading](mill, root)
    message = caught.value.message.replace(f"{root}/", "").replace(str(root), ".")
    message = re.sub(
        r"process \d+ on \S+, since [^)]+", "process 4711 on lab1, since 2026-12-01T09:00:00+00:00", message
    )
    return re.sub(r"\b[0-9a-f]{64}\b", lambda found: found[0][:12] + "…", message)


def lab(root: Path, *records: Any, name: str = "train.jsonl") -> Path:
    write_lines(root / "lab" / name, records or [GOOD] * 3)
    return root / "lab"


def published(mill: Mill, root: Path) -> Milled:
    return mill(lab(root))


def pipeline_file(root: Path, text: str) -> Any:
    (root / "pipeline.yaml").write_text(text)
    return load_pipeline(root / "pipeline.yaml")


@shows("A key that is not known")
def unknown_key(mill: Mill, root: Path) -> Any:
    return pipeline_file(root, "name: math\ndestination: out\nsource:\n- uri: lab\nsources:\n- uri: lab\n")


@shows("A value that is not allowed")
def bad_value(mill: Mill, root: Path) -> Any:
    return pipeline_file(root, "name: math\ndestination: out\nsources:\n- uri: lab\n  layout: promt_response\n")


@shows("Credentials in a URI")
def credentials(mill: Mill, root: Path) -> Any:
    return pipeline_file(root, "name: math\ndestination: out\nsources:\n- uri: s3://key:secret@bucket/x\n")


@shows("A name that the dataset does not have")
def unknown_source(mill: Mill, root: Path) -> Any:
    return published(mill, root).restored(root / "x.parquet", source="lib")


@shows("A row that is not there")
def unknown_row(mill: Mill, root: Path) -> Any:
    return find_row(published(mill, root).destination, "0" * 32)


@shows("A source that is not there")
def no_source(mill: Mill, root: Path) -> Any:
    return mill(root / "nowhere")


@shows("A source without data files")
def empty_source(mill: Mill, root: Path) -> Any:
    (root / "lab").mkdir()
    return mill(root / "lab")


@shows("A source without records")
def no_records(mill: Mill, root: Path) -> Any:
    nothing = pa.array([], pa.string())
    write_parquet(root / "lab" / "train.parquet", {"prompt": nothing, "response": nothing})
    return mill(root / "lab")


@shows("A pointer in place of a file")
def pointer(mill: Mill, root: Path) -> Any:
    (root / "lab").mkdir()
    text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'ab' * 32}\nsize 146946961\n"
    (root / "lab" / "train.parquet").write_text(text)
    return mill(root / "lab")


@shows("A web page in place of a file")
def web_page(mill: Mill, root: Path) -> Any:
    (root / "lab").mkdir()
    (root / "lab" / "train.jsonl").write_text("<!DOCTYPE html><html><body>Sign in</body></html>\n")
    return mill(root / "lab")


@shows("A file that is cut")
def cut_file(mill: Mill, root: Path) -> Any:
    path = write_parquet(root / "lab" / "train.parquet", {"prompt": ["p"] * 99, "response": ["r"] * 99})
    path.write_bytes(path.read_bytes()[:-20])
    return mill(root / "lab")


@shows("Columns whose types do not fit together")
def drifted(mill: Mill, root: Path) -> Any:
    write_parquet(root / "lab" / "train-1.parquet", {"prompt": ["p"], "response": ["r"], "note": [1]})
    write_parquet(root / "lab" / "train-2.parquet", {"prompt": ["p"], "response": ["r"], "note": [["a"]]})
    return mill(root / "lab")


@shows("Columns that no layout fits")
def no_layout(mill: Mill, root: Path) -> Any:
    return mill(lab(root, {"question": "q", "answer": "a"}))


@shows("A reward column with nothing in it")
def no_rewards(mill: Mill, root: Path) -> Any:
    return mill(lab(root, *[{**GOOD, "reward": None}] * 3))


@shows("More put aside than the limit")
def above_limit(mill: Mill, root: Path) -> Any:
    records = [{**GOOD, "response": "" if i % 10 == 3 else "r"} for i in range(60)]
    return mill(lab(root, *records), validation={"max_quarantine": 0.01})


@shows("A folder that holds something else")
def foreign(mill: Mill, root: Path) -> Any:
    (root / "mill" / "dest").mkdir(parents=True)
    (root / "mill" / "dest" / "thesis.tex").write_text("mine")
    return published(mill, root)


@shows("Another pipeline's dataset")
def other_pipeline(mill: Mill, root: Path) -> Any:
    published(mill, root)
    return mill(root / "lab", name="other")


@shows("A version that would lose rows")
def shrinking(mill: Mill, root: Path) -> Any:
    before = published(mill, root)
    lab(root, GOOD)
    return check_growth(before.version, mill(root / "lab").version)


@shows("A dataset that is being published by another run")
def locked(mill: Mill, root: Path) -> Any:
    before = published(mill, root)
    with FileLock(before.destination.path / LOCK):
        return FolderDestination(before.destination.path, lock_timeout=0).rollback("mill", 1)


@shows("A version that is not there")
def no_version(mill: Mill, root: Path) -> Any:
    return differences(published(mill, root).destination, 1, 7)


@shows("A store that can't be written")
def no_store(mill: Mill, root: Path) -> Any:
    (root / "mill").mkdir()
    (root / "mill" / "store").write_text("in the way")
    return published(mill, root)


@shows("A manifest that is damaged")
def damaged_manifest(mill: Mill, root: Path) -> Any:
    before = published(mill, root)
    for path in (before.store.root / "artifacts" / "validate").iterdir():
        path.rename(path.with_name("damaged.json")).write_text("{")
    return before.store.get("validate", "damaged")


@shows("A data file that is damaged in both places")
def damaged_twice(mill: Mill, root: Path) -> Any:
    before = published(mill, root)
    file = before.version.files[0]
    for path in (before.destination.data_path(file), before.store.object_path(file.sha256)):
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    verify(before.destination.path)
    return mill(root / "lab")


@shows("A store that is in use")
def in_use(mill: Mill, root: Path) -> Any:
    before = published(mill, root)
    with held(before.store, "math"):
        return prune(before.store)


@shows("A folder that is nothing of Rollmill's")
def not_ours(mill: Mill, root: Path) -> Any:
    (root / "thesis").mkdir()
    return verify(root / "thesis")
