from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from rollmill import detection
from rollmill import plan as planning
from rollmill.checks import Expectation
from rollmill.errors import ConfigError, FileRefusedError, LayoutError, NothingToReadError
from rollmill.ingest import ingest
from rollmill.layouts import layout_named
from rollmill.plan import Plan, make_plan
from rollmill.store import FolderStore
from tests.conftest import Mill, plan_of, write_lines, write_parquet

if TYPE_CHECKING:
    from rollmill.layouts import Layout

ROWS: dict[str, list[Any]] = {"prompt": ["1+1?", "2+2?"], "response": ["2", "4"], "reward": [1.0, 0.5]}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A source of two splits."""
    write_parquet(tmp_path / "raw" / "lab" / "train-0.parquet", ROWS)
    write_parquet(tmp_path / "raw" / "lab" / "train-1.parquet", {**ROWS, "prompt": ["5?", "6?"]})
    write_lines(tmp_path / "raw" / "lab" / "test.jsonl", [{"prompt": "7?", "response": "7", "reward": 1.0}])
    return tmp_path / "raw" / "lab"


def keys(plan: Plan) -> dict[str, tuple[str, str]]:
    return {unit.unit.name.partition("/")[2]: (unit.validate_key, unit.normalize_key) for unit in plan.units}


def test_keys_do_not_depend_on_path_workers_store_or_destination(tmp_path: Path, source: Path) -> None:
    copy = shutil.copytree(source, tmp_path / "elsewhere" / "deep" / "lab")
    (copy / "train-1.parquet").rename(copy / "train-2.parquet")
    here = Mill(tmp_path / "one").plan({"uri": str(source), "name": "lab"}, workers=1)
    there = Mill(tmp_path / "two").plan({"uri": f"file://{copy}", "name": "lab"}, workers=9, name="other")
    assert keys(here) == keys(there)
    assert [unit.unit.rows for unit in here.units] == [1, 4]
    assert here.sources[0].ingested.snapshot.revision != there.sources[0].ingested.snapshot.revision


def test_all_keys_differ(mill: Mill, source: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(source, tmp_path / "copy")
    found = [key for pair in keys(mill.plan(source, copy)).values() for key in pair]
    listed = [(unit.validate_key, unit.normalize_key) for unit in mill.plan(source, copy).units]
    assert len({key for pair in listed for key in pair}) == 8
    assert all(len(key) == 64 for key in found)


def other_name(mill: Mill, source: Path) -> Plan:
    return mill.plan({"uri": str(source), "name": "other"})


def other_options(mill: Mill, source: Path) -> Plan:
    return mill.plan({"uri": str(source), "name": "lab", "options": {"reward_kind": "outcome"}})


def other_splits(mill: Mill, source: Path) -> Plan:
    for number in (0, 1):
        (source / f"train-{number}.parquet").rename(source / f"validation-{number}.parquet")
    (source / "test.jsonl").rename(source / "train.jsonl")
    return mill.plan(source)


def other_bytes(mill: Mill, source: Path) -> Plan:
    write_parquet(source / "train-0.parquet", {**ROWS, "reward": [1.0, 0.25]})
    write_lines(source / "test.jsonl", [{"prompt": "7?", "response": "8", "reward": 1.0}])
    return mill.plan(source)


def other_suite(mill: Mill, source: Path) -> Plan:
    return make_plan(mill.pipeline(source), [found.ingested for found in mill.plan(source).sources], lambda *_: "new")


@pytest.mark.parametrize("change", [other_name, other_options, other_splits, other_bytes, other_suite])
def test_keys_depend_on_what_decides_bytes(mill: Mill, source: Path, change: Callable[[Mill, Path], Plan]) -> None:
    before = {key for pair in keys(mill.plan(source)).values() for key in pair}
    after = {key for pair in keys(change(mill, source)).values() for key in pair}
    assert not before & after


@pytest.mark.parametrize(
    ("name", "stages"),
    [
        ("READER_VERSION", "both"),
        ("VALIDATE_VERSION", "both"),
        ("NORMALIZE_VERSION", "normalize"),
        ("WRITER_PROFILE", "normalize"),
        ("SCHEMA_VERSION", "normalize"),
    ],
)
def test_a_version_that_goes_up_makes_the_stage_run_again(
    mill: Mill, source: Path, monkeypatch: pytest.MonkeyPatch, name: str, stages: str
) -> None:
    before = keys(mill.plan(source))
    monkeypatch.setattr(planning, name, 99)
    for unit, (validate, normalize) in keys(mill.plan(source)).items():
        assert (validate != before[unit][0]) == (stages == "both")
        assert normalize != before[unit][1]


def test_keys_are_pinned(mill: Mill, tmp_path: Path) -> None:
    write_lines(tmp_path / "lab" / "train.jsonl", [{"prompt": "7?", "response": "7"}])
    plan = make_plan(mill.pipeline(tmp_path / "lab"), [s.ingested for s in mill.plan(tmp_path / "lab").sources], suite)
    assert keys(plan) == {"default/train#0": (PINNED_VALIDATE, PINNED_NORMALIZE)}, "a version number must go up"


def suite(layout: str, schema: pa.Schema, own: Sequence[Expectation]) -> str:
    return f"{layout}: {schema.names}"


PINNED_VALIDATE = "1d1c4f4eb6aa20f594dc29812b9b86b7fe5f0b48ad3937fcb9766f70b73397d5"
PINNED_NORMALIZE = "c860ab052a4c0ae83e5fbb290288d28760f997130a31620cc998ac15f2155503"


def test_a_new_split_leaves_the_units_of_others_alone(mill: Mill, source: Path) -> None:
    before = keys(mill.plan(source))
    write_parquet(source / "validation.parquet", {**ROWS, "more": ["x", "y"]})
    after = keys(mill.plan(source))
    assert after.keys() - before.keys() == {"default/validation#0"}
    assert {unit: after[unit] for unit in before} == before


def test_units_stand_in_the_order_of_sources_splits_and_files(mill: Mill, source: Path, tmp_path: Path) -> None:
    write_parquet(tmp_path / "alpha" / "train.parquet", ROWS)
    plan = mill.plan(source, tmp_path / "alpha")
    assert [unit.unit.name for unit in plan.units] == [
        "lab/default/test#0",
        "lab/default/train#0",
        "alpha/default/train#0",
    ]
    assert [source.name for source in plan.sources] == ["lab", "alpha"]


def test_a_units_schema_is_promoted_over_its_files(mill: Mill, tmp_path: Path) -> None:
    write_parquet(tmp_path / "lab" / "train-0.parquet", {**ROWS, "reward": [1, 0]})
    write_parquet(tmp_path / "lab" / "train-1.parquet", {**ROWS, "extra": ["x", None]})
    unit = mill.plan(tmp_path / "lab").units[0]
    assert dict(zip(unit.schema.names, unit.schema.types, strict=True)) == {
        "prompt": pa.string(),
        "response": pa.string(),
        "reward": pa.float64(),
        "extra": pa.string(),
    }


def test_drifted_columns_are_refused_by_name(mill: Mill, tmp_path: Path) -> None:
    write_parquet(tmp_path / "lab" / "train-0.parquet", {**ROWS, "seed": [1, 2]})
    write_parquet(tmp_path / "lab" / "train-1.parquet", {**ROWS, "seed": ["a", "b"]})
    with pytest.raises(FileRefusedError, match="seed") as caught:
        mill.plan(tmp_path / "lab")
    assert (caught.value.file, caught.value.column) == ("train-1.parquet", "seed")


def test_a_source_without_records_is_refused(mill: Mill, tmp_path: Path) -> None:
    write_parquet(tmp_path / "lab" / "train.parquet", {"prompt": pa.array([], "str"), "response": pa.array([], "str")})
    with pytest.raises(NothingToReadError, match=r"lab .*no record"):
        mill.plan(tmp_path / "lab")


def test_a_source_that_fits_no_layout_is_refused_with_its_columns(mill: Mill, tmp_path: Path) -> None:
    write_parquet(tmp_path / "lab" / "train.parquet", {"question": ["a"], "answer": [1]})
    with pytest.raises(LayoutError) as caught:
        mill.plan(tmp_path / "lab")
    for words in ("lab", "question (string)", "answer (int64)", "prompt_response"):
        assert words in caught.value.message


def test_a_source_of_unreadable_records_alone_is_refused(mill: Mill, tmp_path: Path) -> None:
    write_lines(tmp_path / "lab" / "train.jsonl", [b'{"prompt": "a"', b'{"prompt": "b"'])
    with pytest.raises(LayoutError, match="no record could be read"):
        mill.plan(tmp_path / "lab")


def test_options_of_a_detected_layout_are_checked(mill: Mill, source: Path) -> None:
    with pytest.raises(ConfigError, match="'joy'"):
        mill.plan({"uri": str(source), "options": {"reward_kind": "joy"}})


def test_splits_of_different_layouts_are_refused_in_any_config(
    mill: Mill, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two configs may have a split of the same name."""
    found = mill.plan(source).sources[0].ingested
    twin = [replace(file, config="b", sha256="0" * 64) for file in found.snapshot.files if file.split == "train"][:1]
    looks = {
        **found.inspections,
        "0" * 64: replace(found.inspection(found.snapshot.files[-1]), schema=pa.schema([("q", pa.string())])),
    }
    snapshot = replace(found.snapshot, files=(*twin, *found.snapshot.files))

    class Other(type(layout_named("prompt_response"))):  # type: ignore[misc]
        name = "other"

    def detect(types: dict[str, str], *_: Any, **__: Any) -> Layout:
        return Other() if "q" in types else layout_named("prompt_response")

    monkeypatch.setattr(detection, "detect", detect)
    with pytest.raises(LayoutError, match="b/train is other"):
        detection.detect_layout(found.source, snapshot, looks)


def test_a_plan_reads_no_data(mill: Mill, source: Path) -> None:
    store = FolderStore(mill.pipeline(source).store_path)
    ingested = [ingest(s, store, workers=1)[0] for s in mill.pipeline(source).sources]
    shutil.rmtree(source)
    assert len(plan_of(mill.pipeline(source), ingested).units) == 2
