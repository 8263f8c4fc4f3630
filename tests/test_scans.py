from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from rollmill.config import Source
from rollmill.generator import write_act_prm
from rollmill.ingest import NotIngestedError, ingest, ingest_known
from rollmill.scans import ColumnValues, cut_points, order_of
from rollmill.store import FolderStore
from rollmill.units import cut_rollout_units


def scans_of(rollouts: list[str], cuts: list[int]) -> list[tuple[int, pl.DataFrame]]:
    """Scan a sequence of rows, cut into files."""
    places = sorted({0, len(rollouts), *(c for c in cuts if c < len(rollouts))})
    found = []
    for start, end in pairwise(places):
        rows = pl.DataFrame({"rollout": rollouts[start:end], "row": range(end - start)})
        spans = rows.group_by("rollout", maintain_order=True).agg(
            pl.col("row").min().alias("first"), pl.col("row").max().alias("last"), pl.len().cast(pl.Int64).alias("rows")
        )
        found.append((start, spans))
    return found


SEQUENCES = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=14)


@given(SEQUENCES, st.lists(st.integers(1, 13), max_size=4))
def test_no_cut_parts_a_rollout_and_none_is_missed(rollouts: list[str], cuts: list[int]) -> None:
    points = cut_points(scans_of(rollouts, cuts))
    apart = [p for p in range(len(rollouts)) if not set(rollouts[:p]) & set(rollouts[p:])]
    assert points == apart


@given(SEQUENCES, st.lists(st.integers(1, 13), max_size=4))
def test_rollouts_are_listed_in_order_of_first_appearance(rollouts: list[str], cuts: list[int]) -> None:
    order = order_of(scans_of(rollouts, cuts))
    assert order["rollout"].to_list() == list(dict.fromkeys(rollouts))
    assert order["rows"].to_list() == [rollouts.count(name) for name in dict.fromkeys(rollouts)]
    text = "".join(rollouts)
    together = [name * rollouts.count(name) in text for name in dict.fromkeys(rollouts)]
    assert order["together"].to_list() == together


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(name="steps", uri=str(write_act_prm(tmp_path / "steps", scale=0.02, files=3)))


def test_a_scan_is_kept_and_no_file_is_opened_again(source: Source, tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")
    with pytest.raises(NotIngestedError):
        ingest_known(source, store)
    found, work = ingest(source, store, workers=2)
    assert (work.files, work.cached) == (3, 0)
    for path in Path(source.uri, "data").iterdir():
        path.chmod(0)
    again = ingest_known(source, store)
    assert again.scans.keys() == found.scans.keys()
    assert all(again.scans[place].equals(found.scans[place]) for place in found.scans)


def test_units_hold_whole_rollouts_and_every_record_once(source: Source, tmp_path: Path) -> None:
    found, _ = ingest(source, FolderStore(tmp_path / "store"), workers=1)
    units = cut_rollout_units(found.snapshot, found.inspection, found.cut_points, unit_bytes=100_000)
    assert len(units) > 3
    assert any(part.cut for unit in units for part in unit.parts)
    seen: list[tuple[str, int]] = []
    rollouts: list[set[Any]] = []
    for unit in units:
        keys: set[Any] = set()
        for part in unit.parts:
            rows = pq.read_table(part.file.local, columns=["unique_data_sample_id"])
            keys |= set(rows.slice(part.first_row, part.rows).column(0).to_pylist())
            seen += [(part.file.path, row) for row in range(part.first_row, part.first_row + part.rows)]
        rollouts.append(keys)
    assert seen == [(f.path, row) for f in found.snapshot.files for row in range(found.inspection(f).rows)]
    assert sum(map(len, rollouts)) == len(set.union(*rollouts))


def test_a_file_appended_leaves_the_units_before_it_alone(tmp_path: Path) -> None:
    folder = write_act_prm(tmp_path / "steps", scale=0.02, files=2)
    source, store = Source(name="steps", uri=str(folder)), FolderStore(tmp_path / "store")

    def keys() -> list[Any]:
        found, _ = ingest(source, store, workers=1)
        units = cut_rollout_units(found.snapshot, found.inspection, found.cut_points, unit_bytes=100_000)
        return [[part.key() for part in unit.parts] for unit in units]

    before = keys()
    last = sorted((folder / "data").iterdir())[-1]
    table = pq.read_table(last)
    other = pa.array([value + 10_000 for value in table.column("unique_data_sample_id").to_pylist()])
    at = table.schema.get_field_index("unique_data_sample_id")
    pq.write_table(table.set_column(at, "unique_data_sample_id", other), last.with_name("train-99999-of-00002.parquet"))
    assert keys()[: len(before) - 1] == before[:-1]


def test_the_values_of_few_valued_columns_are_kept_over_files(source: Source, tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")
    found, _ = ingest(source, store, workers=2)
    assert found.values == {"batch_id": {"40"}, "generation_id": {"0"}, "split": {"train_all"}}
    assert ingest_known(source, store).values == found.values


def test_values_are_text_whatever_their_type_and_too_many_are_not_listed() -> None:
    values = ColumnValues(("batch", "id", "gone"))
    values.add(pa.record_batch({"batch": pa.array([40, None]), "id": pa.array([0, 1])}))
    values.add(pa.record_batch({"batch": pa.array([40.0, 41.0]), "id": pa.array([0, 1])}))
    values.add(pa.record_batch({"batch": pa.array(["x"] * 1001), "id": pa.array(range(1001))}))
    assert values.facts() == {"batch": ["40", "41", "x"], "gone": []}
