"""Sources of steps from files to a published dataset and back: rollouts whole, whatever way their rows come."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollmill.generator import write_act_prm
from tests.comparing import rows_of
from tests.conftest import Mill


def shuffle(folder: Path) -> None:
    """Deal the rows of all files out anew, so that rollouts lie apart and across files."""
    paths = sorted((folder / "data").iterdir())
    whole = pa.concat_tables([pq.read_table(path) for path in paths])
    rows = np.random.default_rng(7).permutation(whole.num_rows)
    for path, part in zip(paths, np.array_split(rows, len(paths)), strict=True):
        pq.write_table(whole.take(pa.array(part)), path, row_group_size=40)


def drift(folder: Path) -> None:
    """Let one file lack a column, and another have one more and a number as float."""
    first, second, *_ = sorted((folder / "data").iterdir())
    pq.write_table(pq.read_table(first).drop_columns(["temperature"]), first)
    table = pq.read_table(second).append_column("note", pa.array(["x"] * pq.read_metadata(second).num_rows))
    at = table.schema.get_field_index("state_len")
    pq.write_table(table.set_column(at, "state_len", table.column("state_len").cast(pa.float64())), second)


def originals(folder: Path) -> pa.Table:
    tables = [pq.read_table(path).replace_schema_metadata(None) for path in sorted((folder / "data").iterdir())]
    return pa.concat_tables(tables, promote_options="permissive")


def no_change(folder: Path) -> None:
    """Leave the files as they are."""


@pytest.mark.parametrize("change", [no_change, shuffle, drift])
@pytest.mark.parametrize(
    "options", [{"files": 3}, {"files": 3, "hide_observations": False}, {"files": 3, "generations": 4}]
)
def test_all_rows_come_back_and_rollouts_stand_together(
    mill: Mill, tmp_path: Path, change: Callable[[Path], None], options: dict[str, Any]
) -> None:
    folder = write_act_prm(tmp_path / "steps", scale=0.01, **options)
    change(folder)
    milled = mill(folder)
    before = originals(folder)
    assert milled.version.total.rows_published == milled.version.total.rows_written == before.num_rows
    table, restored = milled.restored(tmp_path / "back.parquet", source="steps")
    assert restored.rows == before.num_rows
    assert table.schema.equals(before.schema)
    assert rows_of(table) == rows_of(before)

    rows = pl.DataFrame(pl.from_arrow(milled.rollouts()))
    assert rows["row_id"].is_unique().all()
    assert rows["rollout_id"].rle().struct.field("value").is_unique().all(), "a rollout's rows are not together"
    steps = rows.group_by("rollout_id", maintain_order=True).agg("step_idx", "candidate_idx", "is_last", "num_steps")
    for row in steps.iter_rows(named=True):
        places = list(zip(row["step_idx"], row["candidate_idx"], strict=True))
        assert places == sorted(places)
        assert set(row["num_steps"]) == {len(set(row["step_idx"]))}
        assert [last for last, (step, _) in zip(row["is_last"], places, strict=True)] == [
            step == max(row["step_idx"]) for step, _ in places
        ]


def test_how_units_are_cut_moves_no_id(mill: Mill, tmp_path: Path) -> None:
    folder = write_act_prm(tmp_path / "steps", scale=0.3, files=2, hide_observations=False)
    one = mill(folder)
    many = mill(folder, unit_bytes=1 << 20)
    assert (len(one.plan.units), len(many.plan.units) > 2) == (1, True)
    assert many.rollouts().equals(one.rollouts())


def test_a_faulty_rollout_is_put_aside_whole_and_comes_back(mill: Mill, tmp_path: Path) -> None:
    from rollmill.generator import plan_act_prm

    wanted = {"step_gap": 2, "duplicate_step": 1, "steps_after_end": 1}
    folder = write_act_prm(tmp_path / "steps", scale=0.02, faults=wanted)
    planned = plan_act_prm(scale=0.02, faults=wanted)
    milled = mill(folder, validation={"max_quarantine": 0.9})
    aside = {(row["source_row"], row["reason"]) for row in milled.quarantined()}
    assert aside == {(row, fault.reason) for fault in planned.faults for row in fault.rows}
    whole, _ = milled.restored(tmp_path / "whole.parquet", source="steps", with_quarantine=True)
    assert rows_of(whole) == rows_of(originals(folder))
    good, _ = milled.restored(tmp_path / "good.parquet", source="steps")
    assert good.num_rows == whole.num_rows - len(aside)


def test_the_cards_facts_reach_the_rows(mill: Mill, tmp_path: Path) -> None:
    milled = mill(write_act_prm(tmp_path / "steps", scale=0.002, generations=4))
    row = milled.rollouts().to_pylist()[0]
    assert row["run_id"].startswith("act_prm-enco=")
    assert row["model_name"] == "Qwen/Qwen3-4B-Instruct-2507"
    assert row["env_name"] == "act_prm/insurance_gpt5m"
    assert (row["policy_step"], row["policy_step_unit"]) == (40, "batch")
    assert set(milled.rollouts().column("candidate_idx").to_pylist()) == {0, 1, 2, 3}


def test_options_given_win_over_the_card(mill: Mill, tmp_path: Path) -> None:
    folder = write_act_prm(tmp_path / "steps", scale=0.002, generations=4)
    milled = mill({"uri": str(folder), "layout": "act_prm", "options": {"generations": "rollouts", "run_id": "mine"}})
    assert set(milled.rollouts().column("candidate_idx").to_pylist()) == {0}
    assert set(milled.rollouts().column("run_id").to_pylist()) == {"mine"}


def test_the_next_action_does_not_leak(mill: Mill, tmp_path: Path) -> None:
    folder = write_act_prm(tmp_path / "steps", scale=0.005, hide_observations=False)
    rows = mill(folder).rollouts().to_pylist()
    nexts = originals(folder).column("next_obs").to_pylist()
    for row in rows:
        later = nexts[row["source_row"]][-1]["content"]
        shown = [*row["context"], *row["completion"], *(row["next_observation"] or [])]
        assert not later or all(later not in (message["content"] or "") for message in shown)
