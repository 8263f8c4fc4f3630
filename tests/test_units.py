from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import hypothesis.strategies as st
import pyarrow as pa
from hypothesis import given

from rollmill.formats.records import Inspection, RowGroup
from rollmill.snapshot import Snapshot, SourceFile
from rollmill.units import Unit, cut_units

MB = 1 << 20
File = tuple[str, str, Sequence[tuple[int, int]]]
"""Split, path, and (rows, bytes) of each row group."""


class Source:
    """A snapshot of invented files, and the inspection of each. A file's bytes are its path, unless `same` says."""

    def __init__(self, files: Sequence[File], same: str | None = None) -> None:
        self.looks: dict[str, Inspection] = {}
        listed, seen = [], dict[tuple[str, str], int]()
        for split, path, groups in files:
            digest = hashlib.sha256((same or path).encode()).hexdigest()
            ordinal = seen.get((split, digest), 0)
            seen[split, digest] = ordinal + 1
            listed.append(SourceFile(path, Path(path), 1, digest, "default", split, ordinal))
            rows = tuple(RowGroup(*group) for group in groups)
            self.looks[digest] = Inspection("parquet", None, sum(g.rows for g in rows), pa.schema([]), rows)
        self.snapshot = Snapshot("lab", "/raw", "0", tuple(listed))

    def units(self, size: int = 100 * MB) -> tuple[Unit, ...]:
        return cut_units(self.snapshot, lambda file: self.looks[file.sha256], unit_bytes=size)


def places(units: Sequence[Unit]) -> list[list[tuple[str, int, int]]]:
    return [[(part.file.path, part.start, part.stop) for part in unit.parts] for unit in units]


def keys(units: Sequence[Unit]) -> list[str]:
    return [repr((unit.config, unit.split, [part.key() for part in unit.parts])) for unit in units]


def small(split: str, count: int, start: int = 0) -> list[File]:
    return [(split, f"{split}/{i:05}.parquet", [(10, 5 * MB)]) for i in range(start, start + count)]


def test_small_files_are_packed_in_order_up_to_the_size() -> None:
    files: list[File] = [("train", f"{name}.parquet", [(10, 40 * MB)]) for name in "abcde"]
    units = Source(files).units()
    assert [[p.file.path for p in unit.parts] for unit in units] == [
        ["a.parquet", "b.parquet"],
        ["c.parquet", "d.parquet"],
        ["e.parquet"],
    ]
    assert [(unit.index, unit.rows, unit.name) for unit in units] == [
        (0, 20, "lab/default/train#0"),
        (1, 20, "lab/default/train#1"),
        (2, 10, "lab/default/train#2"),
    ]


def test_a_large_file_is_cut_by_row_groups_and_stands_apart() -> None:
    files: list[File] = [
        ("train", "a.parquet", [(1, MB)]),
        ("train", "b.parquet", [(100, 60 * MB), (50, 30 * MB), (7, 30 * MB), (3, 150 * MB), (2, MB)]),
        ("train", "c.parquet", [(1, MB)]),
    ]
    units = Source(files).units()
    assert places(units) == [
        [("a.parquet", 0, 1)],
        [("b.parquet", 0, 2)],
        [("b.parquet", 2, 3)],
        [("b.parquet", 3, 4)],
        [("b.parquet", 4, 5)],
        [("c.parquet", 0, 1)],
    ]
    assert [(unit.parts[0].first_row, unit.rows) for unit in units[1:5]] == [(0, 150), (150, 7), (157, 3), (160, 2)]


def test_a_large_file_that_can_only_be_streamed_is_one_unit() -> None:
    units = Source([("train", "a.jsonl", [(1000, 900 * MB)]), ("train", "b.jsonl", [(1, MB)])]).units()
    assert places(units) == [[("a.jsonl", 0, 1)], [("b.jsonl", 0, 1)]]


def test_a_unit_never_crosses_splits() -> None:
    units = Source([("test", "a.parquet", [(1, MB)]), ("train", "b.parquet", [(1, MB)])]).units()
    assert [(unit.split, unit.index, len(unit.parts)) for unit in units] == [("test", 0, 1), ("train", 0, 1)]


def test_files_without_records_make_no_unit() -> None:
    files: list[File] = [("train", "a.parquet", []), ("train", "b.parquet", [(0, 0)]), ("test", "c.jsonl", [(0, 0)])]
    assert Source(files).units() == ()
    assert places(Source([*files, ("train", "d.parquet", [(1, 1)])]).units()) == [[("d.parquet", 0, 1)]]


def test_row_groups_without_records_cost_no_unit() -> None:
    groups = [(5, 90 * MB), (0, 0), (0, 0), (5, 90 * MB), (0, 0)]
    units = Source([("train", "a.parquet", groups)]).units()
    assert [(unit.rows, unit.parts[0].first_row) for unit in units] == [(5, 0), (5, 5)]
    assert places(units) == [[("a.parquet", 0, 3)], [("a.parquet", 3, 5)]]


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 40)), max_size=6), max_size=12),
    st.integers(1, 60),
)
def test_every_record_is_in_exactly_one_unit(shapes: list[list[tuple[int, int]]], size: int) -> None:
    files: list[File] = [("train", f"{i:03}.parquet", groups) for i, groups in enumerate(shapes)]
    source = Source(files)
    units = source.units(size)
    assert units == Source(files).units(size), "a pure function"
    for split_path, groups in ((file[1], file[2]) for file in files):
        parts = [part for unit in units for part in unit.parts if part.file.path == split_path]
        read = [i for part in parts for i in range(part.start, part.stop) if groups[i][0]]
        assert read == [i for i, group in enumerate(groups) if group[0]]
        assert [part.first_row for part in parts] == [sum(r for r, _ in groups[: part.start]) for part in parts]
        assert [part.rows for part in parts] == [
            sum(r for r, _ in groups[p.start : p.stop]) for p in parts for part in [p]
        ]
    assert all(unit.rows for unit in units)
    assert [unit.index for unit in units] == list(range(len(units)))
    for unit in units:
        weight = sum(
            size for part in unit.parts for _, size in files[int(part.file.path[:3])][2][part.start : part.stop]
        )
        assert weight <= size or (len(unit.parts) == 1), "only what can't be cut may be above the size"


def test_appended_files_leave_all_earlier_units_alone() -> None:
    before = Source(small("train", 300)).units()
    after = Source(small("train", 320)).units()
    assert keys(after)[: len(before) - 1] == keys(before)[:-1], "only the last, open pack may take more files"
    full = Source(small("train", 300)).units(5 * MB)
    assert keys(Source(small("train", 320)).units(5 * MB))[: len(full)] == keys(full)


def test_a_file_inserted_in_the_middle_disturbs_its_neighbours_only() -> None:
    files = small("train", 3000)
    before = keys(Source(files).units())
    new: File = ("train", "train/01000a.parquet", [(10, 5 * MB)])
    after = keys(Source([*files[:1001], new, *files[1001:]]).units())
    assert len(set(before) - set(after)) <= 12
    assert len(set(before) & set(after)) >= 0.9 * len(before)


def test_the_same_bytes_twice_in_a_split_are_two_inputs() -> None:
    files: list[File] = [("train", "a.parquet", [(1, 90 * MB)]), ("train", "b.parquet", [(1, 90 * MB)])]
    one, two = keys(Source(files, same="bytes").units())
    assert one != two


def test_a_key_holds_no_path() -> None:
    unit = Source([("train", "secret/a.parquet", [(1, MB)])]).units()[0]
    moved = replace(unit.parts[0], file=replace(unit.parts[0].file, path="b", local=Path("/elsewhere")))
    assert moved.key() == unit.parts[0].key()
    assert "secret" not in repr(moved.key())
