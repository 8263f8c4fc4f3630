from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from rollmill import gathering
from rollmill.gathering import Gathering
from rollmill.layouts.base import assemble


def rows(*steps: tuple[str, int]) -> pa.Table:
    """Rows of rollouts, with what finishing reads."""
    count = len(steps)
    texts = dict.fromkeys(("row_id", "prompt_id", "context_id", "content_id", "data_source", "producer_role"), "x")
    more = dict.fromkeys(("context_format", "completion_format", "source_digest", "source_row_hash", "layout"), "x")
    columns = {
        **texts,
        **more,
        "rollout_id": pa.array([rollout for rollout, _ in steps]),
        "step_idx": pa.array([step for _, step in steps], pa.int32()),
        "num_steps": 1,
        "candidate_idx": 0,
        "is_last": False,
        "context": [],
        "context_mode": "full",
        "completion": [],
        "reward_kind": "none",
        "source_row": pa.array(range(count), pa.int64()),
        "quality_flags": [],
        "extra_json": "{}",
    }
    return assemble(columns, count)


def gather(tmp_path: Path, batches: list[pa.Table], order: list[tuple[str, int, bool]]) -> list[pa.Table]:
    listed = pl.DataFrame(order, schema=["rollout", "rows", "together"], orient="row")
    emitted: list[pa.Table] = []
    gathered = Gathering(listed, 10.0, tmp_path, emitted.append)
    for batch in batches:
        gathered.add(batch)
    gathered.close()
    return emitted


def steps_of(tables: list[pa.Table]) -> list[tuple[str, int]]:
    whole = pa.concat_tables(tables)
    return list(zip(whole.column("rollout_id").to_pylist(), whole.column("step_idx").to_pylist(), strict=True))


@pytest.fixture(autouse=True)
def _small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "BUCKET_BYTES", 30)


def test_rollouts_that_lie_together_are_emitted_while_the_unit_is_read(tmp_path: Path) -> None:
    batches = [rows(("a", 0), ("a", 1), ("a", 2), ("b", 0)), rows(("b", 1), ("c", 0))]
    emitted = gather(tmp_path, batches, [("a", 3, True), ("b", 2, True), ("c", 1, True)])
    assert len(emitted) == 2
    assert steps_of(emitted) == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("c", 0)]
    assert list(tmp_path.iterdir()) == []


def test_rollouts_whose_rows_lie_apart_are_gathered_in_order(tmp_path: Path) -> None:
    batches = [rows(("b", 1), ("a", 2), ("c", 0)), rows(("a", 0), ("b", 0)), rows(("c", 1), ("a", 1))]
    emitted = gather(tmp_path, batches, [("b", 2, False), ("a", 3, False), ("c", 2, False)])
    assert len(emitted) > 1
    assert steps_of(emitted) == [("b", 0), ("b", 1), ("a", 0), ("a", 1), ("a", 2), ("c", 0), ("c", 1)]
    whole = pa.concat_tables(emitted)
    assert whole.column("num_steps").to_pylist() == [2, 2, 3, 3, 3, 2, 2]
    assert whole.column("is_last").to_pylist() == [False, True, False, False, True, False, True]
    assert list(tmp_path.iterdir()) == []


def test_rollouts_that_were_put_aside_leave_no_gap(tmp_path: Path) -> None:
    emitted = gather(tmp_path, [rows(("c", 0))], [("a", 3, True), ("b", 2, True), ("c", 1, True)])
    assert steps_of(emitted) == [("c", 0)]
