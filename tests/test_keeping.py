"""Records whose reasons are kept: published as they are, flagged, counted apart, restored exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollmill.errors import QuarantineLimitError
from rollmill.generator import plan_act_prm, write_act_prm
from rollmill.layouts.rollouts import expand
from tests.comparing import rows_of
from tests.conftest import Mill, Milled, write_lines, write_parquet

NAN, INF = float("nan"), float("inf")
ROWS: dict[str, list[Any]] = {
    "prompt": ["a", "b", "c", "d", "e", "f"],
    "response": ["one", " \n", None, "two", "three", ""],
    "reward": [1.0, 0.0, 0.5, NAN, None, -INF],
}


def kept(mill: Mill, folder: Path, *codes: str, **source: Any) -> Milled:
    return mill({"uri": str(folder), "keep": list(codes), **source})


def flags(milled: Milled) -> dict[int, list[str]]:
    return {row["source_row"]: row["quality_flags"] for row in milled.rollouts().to_pylist()}


def test_only_records_whose_reasons_are_all_kept_are_published_and_say_so(mill: Mill, tmp_path: Path) -> None:
    write_parquet(tmp_path / "lab" / "train.parquet", ROWS)
    milled = kept(mill, tmp_path / "lab", "empty_response", "reward_missing")
    assert flags(milled) == {
        0: ["group_inferred"],
        1: ["group_inferred", "kept:empty_response"],
        2: ["group_inferred", "kept:empty_response"],
        4: ["group_inferred", "kept:reward_missing"],
    }
    assert [row["source_row"] for row in milled.quarantined()] == [3, 5]
    assert milled.report.kept == {"empty_response": 2, "reward_missing": 1}
    assert milled.report.reasons == {"empty_response": 1, "reward_not_finite": 1}
    total = milled.version.total
    assert (total.rows_in, total.rows_published, total.rows_quarantined) == (6, 4, 2)


def test_kept_records_are_published_verbatim_and_numbers_that_are_none_as_null(mill: Mill, tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "lab" / "train.parquet", ROWS)
    milled = kept(mill, tmp_path / "lab", "empty_response", "reward_missing", "reward_not_finite")
    rows = milled.rollouts().to_pylist()
    assert [row["reward"] for row in rows] == [1.0, 0.0, 0.5, None, None, None]
    assert [[m["content"] for m in row["completion"]] for row in rows[1:3]] == [[" \n"], []]
    assert rows[3]["quality_flags"] == ["group_inferred", "kept:reward_not_finite", "nan_nulled"]
    assert rows[5]["quality_flags"] == [
        "group_inferred", "kept:empty_response", "kept:reward_not_finite", "nan_nulled",
    ]  # fmt: skip
    assert milled.quarantined() == []
    restored, _ = milled.restored(tmp_path / "out.parquet")
    assert rows_of(restored) == rows_of(pq.read_table(path))


@pytest.mark.parametrize("layout", ["prompt_response", "ppo_critic"])
def test_rewards_of_any_form_are_kept_and_come_back(mill: Mill, tmp_path: Path, layout: str) -> None:
    name = "reward" if layout == "prompt_response" else "score"
    cells = [1, "0.5", "high", "NaN", "-Infinity", "1e999", [0.1], {"a": 1}, None, True, " 2 ", "1_000", ""]
    more = {"pred": 0.5, "target": 0.5} if layout == "ppo_critic" else {}
    write_lines(
        tmp_path / "lab" / "train.jsonl",
        [{"prompt": f"{i}?", "response": str(i), **more, name: cell} for i, cell in enumerate(cells)],
    )
    codes = ["reward_missing", "reward_not_a_number", "reward_not_finite", "reward_shape"]
    strict, milled = mill(tmp_path / "lab"), kept(mill, tmp_path / "lab", *codes)
    assert milled.plan.sources[0].layout.name == layout
    assert milled.rollouts().column("reward").to_pylist() == [1, 0.5, *[None] * 7, 1, 2, None, None]
    assert milled.report.kept == strict.report.reasons
    assert milled.report.kept.keys() == set(codes)
    restored, _ = milled.restored(tmp_path / "out.parquet")
    whole, _ = strict.restored(tmp_path / "whole.parquet", with_quarantine=True)
    assert rows_of(restored) == rows_of(whole)


def test_unreadable_records_stay_aside_whatever_is_kept(mill: Mill, tmp_path: Path) -> None:
    write_lines(tmp_path / "lab" / "train.jsonl", [{"prompt": "a", "response": ""}, b'{"prompt": "b"'])
    milled = kept(mill, tmp_path / "lab", "empty_response")
    assert flags(milled) == {0: ["group_inferred", "kept:empty_response"]}
    assert milled.report.reasons == {"bad_json": 1}


def test_kept_records_do_not_count_against_the_limit(mill: Mill, tmp_path: Path) -> None:
    responses = ["x"] * 40 + [""] * 60
    write_parquet(tmp_path / "lab" / "train.parquet", {"prompt": [str(i) for i in range(100)], "response": responses})
    with pytest.raises(QuarantineLimitError, match="--keep empty_response"):
        mill(tmp_path / "lab", validation={})
    milled = mill({"uri": str(tmp_path / "lab"), "keep": ["empty_response"]}, validation={})
    assert milled.report.rows_published == 100


def test_keeping_judges_nothing_again_and_touches_no_other_source(mill: Mill, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_parquet(tmp_path / name / "train.parquet", ROWS)
    sources = [{"uri": str(tmp_path / name)} for name in ("one", "two")]
    before = mill.plan(*sources).units
    after = mill.plan(sources[0] | {"keep": ["reward_missing", "empty_response"]}, sources[1]).units
    assert [unit.validate_key for unit in after] == [unit.validate_key for unit in before]
    assert after[0].normalize_key != before[0].normalize_key
    assert after[1].normalize_key == before[1].normalize_key
    turned = mill.plan(sources[0] | {"keep": ["empty_response", "reward_missing"]}, sources[1]).units
    assert turned[0].normalize_key == after[0].normalize_key


STEP_FAULTS = {"step_gap": 2, "steps_after_end": 2, "duplicate_step": 2, "reward_not_finite": 3}


@pytest.mark.parametrize("generations", [1, 4])
def test_rollouts_are_kept_whole_and_stay_in_order(mill: Mill, tmp_path: Path, generations: int) -> None:
    options: dict[str, Any] = {"scale": 0.03, "faults": STEP_FAULTS, "generations": generations}
    folder = write_act_prm(tmp_path / "steps", files=3, hide_observations=False, **options)
    faults = plan_act_prm(**options).faults
    milled = kept(mill, folder, "step_gap", "steps_after_end", "reward_not_finite", layout="act_prm")
    at = {row: fault.reason for fault in faults for row in fault.rows}
    assert {row["reason"] for row in milled.quarantined()} == {"duplicate_step"}
    assert len(milled.quarantined()) == sum(reason == "duplicate_step" for reason in at.values())

    rows = pl.DataFrame(pl.from_arrow(milled.rollouts()))
    assert rows["row_id"].is_unique().all()
    assert rows.select(pl.struct("rollout_id", "step_idx", "candidate_idx").is_unique().all()).item()
    assert rows["rollout_id"].rle().struct.field("value").is_unique().all(), "a rollout's rows are not together"
    for _, rollout in rows.group_by("rollout_id", maintain_order=True):
        assert rollout["step_idx"].is_sorted()
        assert rollout["num_steps"].unique().to_list() == [rollout["step_idx"].n_unique()]
        assert rollout["quality_flags"].list.join(" ").str.extract_all(r"kept:\w+").n_unique() == 1, "kept whole"
    found = rows["quality_flags"].list.join(" ").str.extract(r"kept:(\w+)").drop_nulls().value_counts().rows()
    wanted = [reason for reason in at.values() if reason != "duplicate_step"]
    assert dict(found) == {reason: wanted.count(reason) for reason in set(wanted)}


def test_kept_rollouts_come_back_exactly(mill: Mill, tmp_path: Path) -> None:
    folder = write_act_prm(tmp_path / "steps", scale=0.02, files=2, hide_observations=False, faults=STEP_FAULTS)
    empty_some_actions(folder)
    codes = ("empty_response", "step_gap", "steps_after_end", "reward_not_finite")
    milled = kept(mill, folder, *codes)
    assert milled.report.kept.keys() == set(codes)
    sources = [pq.read_table(path).replace_schema_metadata(None) for path in sorted((folder / "data").iterdir())]
    restored, _ = milled.restored(tmp_path / "out.parquet", with_quarantine=True)
    assert rows_of(restored) == rows_of(pa.concat_tables(sources))
    expand(milled.rollouts()).validate(full=True)


def empty_some_actions(folder: Path) -> None:
    """Blank the text of an action, make one null, and the text of another."""
    path = min((folder / "data").iterdir())
    table = pq.read_table(path)
    actions = table.column("action").to_pylist()
    actions[3], actions[17], actions[31] = {**actions[3], "content": "  "}, None, {**actions[31], "content": None}
    at = table.schema.get_field_index("action")
    column = pa.array(actions, table.schema.field(at).type)
    pq.write_table(table.set_column(at, table.schema.field(at), column), path)


def test_a_rollout_with_a_reason_that_is_not_kept_stays_aside_whole(mill: Mill, tmp_path: Path) -> None:
    """Also one whose rows have no number: it has no place."""
    folder = write_act_prm(tmp_path / "steps", scale=0.01)
    path = min((folder / "data").iterdir())
    table = pq.read_table(path)
    at, steps = table.schema.get_field_index("timestep"), table.column("timestep").to_pylist()
    ends = [i for i, done in enumerate(table.column("done").to_pylist()) if done]
    steps[0], steps[ends[1]] = None, steps[ends[1]] + 1
    pq.write_table(table.set_column(at, table.schema.field(at), pa.array(steps, table.schema.field(at).type)), path)
    milled = kept(mill, folder, "step_gap")
    aside = milled.quarantined()
    assert all("step_unnumbered" in row["reasons"] for row in aside)
    assert sorted(row["source_row"] for row in aside) == list(range(ends[0] + 1))
    assert milled.report.kept == {"step_gap": ends[1] - ends[0]}
