from __future__ import annotations

from pathlib import Path

import hypothesis.strategies as st
import pyarrow as pa
from hypothesis import given

from rollmill.layouts import layout_named
from rollmill.plan import UnitPlan
from rollmill.snapshot import SourceFile
from rollmill.tasks.batches import MOST_TASK_RUNS, batches
from rollmill.units import Part, Unit


def units(*rows: int) -> list[UnitPlan]:
    """Units of so many records, one per split."""
    made = []
    for index, count in enumerate(rows):
        file = SourceFile(f"{index}", Path(f"{index}"), 1, "", "default", f"train_{index}")
        unit = Unit("lab", "default", f"train_{index}", 0, (Part(file, 0, 1, 0, count),))
        made.append(UnitPlan(unit, layout_named("prompt_response"), {}, pa.schema([]), {}, f"v{index}", f"n{index}"))
    return made


def test_127_splits_are_few_task_runs_of_nearly_equal_size() -> None:
    cut = batches(units(*[1000] * 127))
    assert len(cut) <= MOST_TASK_RUNS
    assert {len(batch.units) for batch in cut} <= {3, 4}


def test_few_units_get_a_task_run_each() -> None:
    cut = batches(units(5, 5, 5))
    assert [batch.name for batch in cut] == ["lab/default/train_0#0", "lab/default/train_1#0", "lab/default/train_2#0"]


def test_a_batch_of_several_units_is_named_by_its_first_and_last() -> None:
    assert [batch.name for batch in batches(units(1, 1, 1, 1), most=2)] == [
        "lab/default/train_0#0..lab/default/train_1#0",
        "lab/default/train_2#0..lab/default/train_3#0",
    ]


def test_no_units_are_no_batches() -> None:
    assert batches([]) == []


@given(st.lists(st.integers(1, 10**9), max_size=200), st.integers(1, 40))
def test_every_unit_is_in_one_batch_in_order_and_batches_are_few(rows: list[int], most: int) -> None:
    given_units = units(*rows)
    cut = batches(given_units, most=most)
    assert [unit for batch in cut for unit in batch.units] == given_units
    assert len(cut) <= most
    largest = max((sum(u.unit.rows for u in batch.units) for batch in cut), default=0)
    assert largest <= sum(rows) / most + max(rows, default=0)
