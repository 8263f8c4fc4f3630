from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rollmill.errors import ConservationError
from rollmill.normalize import ROLLOUTS
from rollmill.publish import Counts
from rollmill.release import make_version, public_uri
from tests.conftest import Mill, Milled, write_lines, write_parquet


@pytest.fixture
def milled(mill: Mill, tmp_path: Path) -> Milled:
    """Two splits: one with a bad record, one with bad records only."""
    folder = tmp_path / "lab"
    write_parquet(folder / "train-0.parquet", {"prompt": ["a", "b"], "response": ["c", ""]})
    write_lines(folder / "train-1.jsonl", [{"prompt": "a", "response": "b"}, b"{"])
    write_lines(folder / "test.jsonl", [{"prompt": "a", "response": " "}])
    (folder / "README.md").write_text("---\nlicense: mit\n---\n")
    return mill(folder)


def test_a_version_counts_records_per_split_with_those_without_rows(milled: Milled) -> None:
    source = milled.version.sources[0]
    assert source.splits == {"default": {"test": Counts(1, 0, 1, 0, 0), "train": Counts(4, 2, 2, 0, 2)}}
    assert source.reasons == {"bad_json": 1, "empty_response": 2}
    assert (source.name, source.license, source.layout) == ("lab", "mit", "prompt_response@1")
    assert milled.version.total == Counts(5, 2, 3, 0, 2)


def test_a_split_without_published_rows_has_no_file(milled: Milled) -> None:
    assert [(file.split, file.rows) for file in milled.version.files] == [("train", 2)]


def test_files_are_the_units_shards_as_they_are(milled: Milled) -> None:
    for file in milled.version.files:
        payload = milled.done[file.key].payload(ROLLOUTS)
        assert payload is not None
        assert (file.sha256, file.bytes, file.rows) == (payload.sha256, payload.bytes, payload.rows)
        assert milled.destination.data_path(file).read_bytes() == milled.store.object_path(file.sha256).read_bytes()


def test_every_source_file_can_be_traced_from_its_digest(milled: Milled) -> None:
    source = milled.version.sources[0]
    listed = {place["path"]: (digest, place) for digest, of in source.files.items() for place in of}
    assert {path: place["rows"] for path, (_, place) in listed.items()} == {
        "train-0.parquet": 2,
        "train-1.jsonl": 2,
        "test.jsonl": 1,
    }
    for digest in set(milled.rollouts().column("source_digest").to_pylist()):
        assert digest in source.files
    assert all(place["uri"] == "file:lab" for _, place in listed.values())


@pytest.mark.parametrize("change", [("rows_published", 3), ("rows_published", 1)])
def test_counts_that_do_not_add_up_are_refused(milled: Milled, change: tuple[str, int]) -> None:
    key = next(unit.normalize_key for unit in milled.plan.units if unit.unit.split == "train")
    done = dict(milled.done)
    done[key] = replace(done[key], facts={**done[key].facts, change[0]: change[1]})
    with pytest.raises(ConservationError, match="4 records in"):
        make_version(milled.plan, done)


def test_a_lost_quarantine_file_is_refused(milled: Milled) -> None:
    done = {
        key: replace(m, payloads=tuple(p for p in m.payloads if p.name == ROLLOUTS)) for key, m in milled.done.items()
    }
    with pytest.raises(ConservationError):
        make_version(milled.plan, done)


def test_the_same_content_is_the_same_version(mill: Mill, milled: Milled, tmp_path: Path) -> None:
    again = mill(tmp_path / "lab")
    assert again.outcome.unchanged
    assert again.version.to_json() == milled.version.to_json()


def test_a_version_does_not_depend_on_the_store_or_the_path(mill: Mill, milled: Milled, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "lab"
    moved.parent.mkdir()
    (tmp_path / "lab").rename(moved)
    other = Mill(tmp_path / "other")(moved)
    assert other.version.to_json() == milled.version.to_json()
    assert [file.path for file in other.version.files] == [file.path for file in milled.version.files]


def test_a_source_file_read_into_two_splits_names_each_splits_own_quarantine(mill: Mill, tmp_path: Path) -> None:
    write_parquet(tmp_path / "lab" / "d.parquet", {"prompt": ["a", "b"], "response": ["c", ""]})
    files = "".join(f"  - {{split: {split}, path: d.parquet}}\n" for split in ("train", "test"))
    (tmp_path / "lab" / "README.md").write_text(f"---\nconfigs:\n- config_name: default\n  data_files:\n{files}---\n")
    places = next(iter(mill(tmp_path / "lab").version.sources[0].files.values()))
    assert [(place["split"], len(place["quarantine"])) for place in places] == [("test", 1), ("train", 1)]


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("/home/me/secret/lab", "file:lab"),
        ("file:///home/me/my%20lab", "file:my lab"),
        ("hf://datasets/owner/name", "hf://datasets/owner/name"),
    ],
)
def test_of_a_local_source_only_its_own_name_is_told(uri: str, shown: str) -> None:
    assert public_uri(uri) == shown


def test_published_files_hold_what_the_version_says(milled: Milled) -> None:
    for file in milled.version.files:
        assert pq.read_metadata(milled.destination.data_path(file)).num_rows == file.rows
