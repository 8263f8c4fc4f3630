from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from rollmill.facts import FACTS, FACTS_SCHEMA, facts_of
from rollmill.generator import write_act_prm
from tests.conftest import Mill, Milled, write_lines


def facts_and_rows(milled: Milled) -> tuple[pl.DataFrame, list[dict[str, Any]]]:
    """Facts of all units, and the published rows, both in the order of the units."""
    tables, rows = [], []
    for unit in milled.plan.units:
        manifest = milled.done[unit.normalize_key]
        found, rollouts = manifest.payload(FACTS), manifest.payload("rollouts")
        assert found is not None
        assert rollouts is not None
        table = pq.read_table(milled.store.object_path(found.sha256))
        assert table.schema.equals(FACTS_SCHEMA)
        tables.append(pl.DataFrame(pl.from_arrow(table)))
        rows += pq.read_table(milled.store.object_path(rollouts.sha256)).to_pylist()
    return pl.concat(tables), rows


@pytest.fixture(params=[1, 3])
def steps(request: pytest.FixtureRequest, mill: Mill, tmp_path: Path) -> Milled:
    """Rollouts of several steps, with hidden observations; one candidate per step, or three."""
    write_act_prm(tmp_path / "steps", scale=0.01, generations=request.param)
    return mill(tmp_path / "steps")


def test_each_fact_is_that_of_its_row(steps: Milled) -> None:
    facts, rows = facts_and_rows(steps)
    assert len(facts) == len(rows) > 100
    for name, of in {"row_key": "row_id", "rollout_key": "rollout_id", "content_key": "content_id"}.items():
        assert [f"{key:016x}" for key in facts[name]] == [row[of][:16] for row in rows]
    for name in ("step_idx", "num_steps", "candidate_idx", "is_last", "is_selected", "reward", "truncated"):
        assert facts[name].to_list() == [row[name] for row in rows]
    texts = [[m["content"] or "" for m in row["context"]] for row in rows]
    assert facts["context_messages"].to_list() == [len(text) for text in texts]
    assert facts["hidden_messages"].to_list() == [text.count("...") for text in texts]
    assert facts["context_bytes"].to_list() == [sum(len(t.encode()) for t in text) for text in texts]
    assert facts["completion_bytes"].to_list() == [len(row["completion"][0]["content"].encode()) for row in rows]
    assert facts["hidden_messages"].sum() > 0


def test_the_first_row_of_a_rollout_is_marked(steps: Milled) -> None:
    facts, _ = facts_and_rows(steps)
    assert facts["is_first"].sum() == facts["rollout_key"].n_unique()
    assert (facts.filter("is_first")["step_idx"] == 0).all()


def test_samples_are_the_rows_that_a_group_compares(steps: Milled) -> None:
    """Of candidates for a step each, of whole rollouts the last row."""
    facts, rows = facts_and_rows(steps)
    candidates = max(row["candidate_idx"] for row in rows) > 0
    expected = facts["group_key"].is_not_null() & (facts["is_last"] | candidates)
    assert facts["is_sample"].to_list() == expected.to_list()


def test_flags_and_odd_numbers_are_marked(steps: Milled) -> None:
    table = steps.rollouts().slice(0, 3)
    number = table.schema.get_field_index("step_return")
    flags = table.schema.get_field_index("quality_flags")
    table = table.set_column(number, table.schema.field(number), [[1.0, float("inf"), None]])
    table = table.set_column(flags, table.schema.field(flags), [[["kept:x", "y"], ["sentinel_nulled"], []]])
    facts = facts_of(table).to_pydict()
    assert facts["all_finite"] == [True, False, True]
    assert facts["is_kept"] == [True, False, False]
    assert facts["advantage_nulled"] == [False, True, False]


def test_facts_hold_no_text_of_rows_and_are_not_published(mill: Mill, tmp_path: Path) -> None:
    write_lines(tmp_path / "lab" / "train.jsonl", [{"prompt": "CANARY", "response": "CANARY"}])
    milled = mill(tmp_path / "lab")
    manifest = next(iter(milled.done.values()))
    found = manifest.payload(FACTS)
    assert found is not None
    assert b"CANARY" not in milled.store.object_path(found.sha256).read_bytes()
    published = [path.read_bytes() for path in milled.destination.path.rglob("*") if path.is_file()]
    assert milled.store.object_path(found.sha256).read_bytes() not in published
    assert not any(found.sha256.encode() in data for data in published)
