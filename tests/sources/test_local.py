import hashlib
import os
from pathlib import Path

import pytest

from rollmill.errors import DataRefusedError, FileRefusedError, NothingToReadError, SourceMissingError
from rollmill.sources import StatIndex, resolve_local


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fill(root, *names, body=None):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name if body is None else body)


def resolve(root, **options):
    return resolve_local(str(root), "toy", digest=sha256, **options)


def paths(snapshot):
    return [file.path for file in snapshot.files]


def why_skipped(snapshot):
    return {entry.path: entry.why for entry in snapshot.skipped}


def test_a_folder_is_resolved_to_its_files(tmp_path):
    fill(tmp_path, "train_10.jsonl", "train_2.jsonl", "sub/test.parquet")
    snapshot = resolve(tmp_path)
    assert [(file.split, file.path) for file in snapshot.files] == [
        ("test", "sub/test.parquet"),
        ("train", "train_2.jsonl"),
        ("train", "train_10.jsonl"),
    ]
    first = snapshot.files[0]
    assert (first.local, first.size) == (tmp_path / "sub/test.parquet", len("sub/test.parquet"))
    assert first.sha256 == sha256(first.local)
    assert (snapshot.name, snapshot.uri, snapshot.card, snapshot.warnings) == ("toy", str(tmp_path), {}, ())


def test_the_revision_follows_paths_and_bytes_alone(tmp_path):
    fill(tmp_path / "one", "a.jsonl", "b.jsonl")
    fill(tmp_path / "two", "b.jsonl", "a.jsonl", "notes.txt")
    one = resolve(tmp_path / "one").revision
    assert one == resolve(tmp_path / "two").revision
    fill(tmp_path / "two", "a.jsonl", body="other")
    assert one != resolve(tmp_path / "two").revision


def test_files_of_the_same_bytes_are_counted_within_a_split(tmp_path):
    fill(tmp_path, "train/a.jsonl", "train/b.jsonl", "test/a.jsonl", body="same")
    assert [(file.path, file.ordinal) for file in resolve(tmp_path).files] == [
        ("test/a.jsonl", 0),
        ("train/a.jsonl", 0),
        ("train/b.jsonl", 1),
    ]


def test_what_is_no_data_is_skipped_and_listed(tmp_path):
    notes = (".hidden.jsonl", "_SUCCESS", "a.jsonl.lock", "b.jsonl.incomplete", "c.tmp", "d.parquet.crc", "LICENSE")
    fill(tmp_path, "a.jsonl", *notes, ".git/x.jsonl", "_delta_log/0.json", "dataset_infos.json", "x.txt")
    snapshot = resolve(tmp_path)
    assert paths(snapshot) == ["a.jsonl"]
    assert set(why_skipped(snapshot)) == {*notes, ".git/", "_delta_log/", "dataset_infos.json", "x.txt"}


def test_links_out_of_the_folder_are_skipped_and_links_inside_followed_once(tmp_path):
    root = tmp_path / "root"
    fill(root, "a.jsonl", ".store/blob")
    fill(tmp_path, "outside.jsonl")
    (root / "out.jsonl").symlink_to(tmp_path / "outside.jsonl")
    (root / "null.parquet").symlink_to("/dev/null")
    (root / "gone.jsonl").symlink_to("nowhere")
    (root / "again.jsonl").symlink_to("a.jsonl")
    (root / "b.jsonl").symlink_to(".store/blob")
    (root / "c.jsonl").symlink_to(".store/blob")
    (root / "loop").symlink_to(".")
    snapshot = resolve(root)
    assert paths(snapshot) == ["a.jsonl", "b.jsonl"]
    why = why_skipped(snapshot)
    assert why["out.jsonl"] == why["null.parquet"] == "link out of the folder"
    assert set(why) == {"out.jsonl", "null.parquet", "gone.jsonl", "again.jsonl", "c.jsonl", "loop", ".store/"}


@pytest.mark.parametrize("name", ["run [1]", "a#b", "100%25", "café ✓", "a?b", "*"])
def test_paths_are_taken_literally(tmp_path, name):
    fill(tmp_path, f"{name}/train.jsonl")
    assert paths(resolve(tmp_path)) == [f"{name}/train.jsonl"]
    assert paths(resolve(tmp_path / name)) == ["train.jsonl"]
    assert paths(resolve((tmp_path / name).as_uri())) == ["train.jsonl"]
    assert paths(resolve(tmp_path / name / "train.jsonl")) == ["train.jsonl"]


def test_a_single_file_is_a_source(tmp_path):
    fill(tmp_path, "test.jsonl", "train.jsonl")
    (file,) = resolve(tmp_path / "test.jsonl").files
    assert (file.path, file.split, file.local) == ("test.jsonl", "test", tmp_path / "test.jsonl")


def test_a_missing_source_is_named(tmp_path):
    with pytest.raises(SourceMissingError, match=r"gone.*No such file"):
        resolve(tmp_path / "gone")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list everything")
def test_a_folder_that_can_not_be_listed_is_named(tmp_path):
    fill(tmp_path, "a.jsonl", "sub/b.jsonl")
    (tmp_path / "sub").chmod(0)
    try:
        with pytest.raises(SourceMissingError, match=r"sub.*Permission denied"):
            resolve(tmp_path)
    finally:
        (tmp_path / "sub").chmod(0o700)


def test_a_source_without_data_says_what_was_seen(tmp_path):
    with pytest.raises(NothingToReadError, match="empty"):
        resolve(tmp_path)
    fill(tmp_path, "notes.txt")
    with pytest.raises(NothingToReadError, match=r"notes\.txt"):
        resolve(tmp_path)


def test_data_in_other_formats_is_refused_by_name(tmp_path):
    fill(tmp_path, "a.jsonl", "sub/b.csv", "c.json.xz")
    with pytest.raises(FileRefusedError, match=r"c\.json\.xz, sub/b\.csv.*Parquet") as caught:
        resolve(tmp_path)
    assert caught.value.file == "c.json.xz"


def test_other_formats_do_not_matter_where_the_card_or_the_selection_leaves_them_out(tmp_path):
    fill(tmp_path, "train.jsonl", "test.csv")
    assert paths(resolve(tmp_path, splits=["train"])) == ["train.jsonl"]
    fill(tmp_path, "README.md", body="---\nconfigs:\n- config_name: default\n  data_files: '*.jsonl'\n---\n")
    snapshot = resolve(tmp_path)
    assert paths(snapshot) == ["train.jsonl"]
    assert "configs" in why_skipped(snapshot)["test.csv"]


@pytest.mark.parametrize("other", ["data/train.jsonl", "data/train.parquet.zst", "data/train.jsonl.gz"])
def test_one_stem_in_two_formats_is_refused_naming_both(tmp_path, other):
    fill(tmp_path, "data/train.parquet", other)
    with pytest.raises(FileRefusedError) as caught:
        resolve(tmp_path)
    assert "data/train.parquet" in caught.value.message
    assert other in caught.value.message


def test_one_stem_in_two_folders_is_fine(tmp_path):
    fill(tmp_path, "a/train.parquet", "b/train.jsonl")
    assert len(resolve(tmp_path).files) == 2


CARD = """---
configs:
- config_name: math
  data_files:
  - split: 'step-100'
    path: m/*
- config_name: code
  data_files: c/*
---
"""


def test_config_and_splits_select(tmp_path):
    fill(tmp_path, "m/a.jsonl", "c/b.jsonl")
    fill(tmp_path, "README.md", body=CARD)
    assert [(f.config, f.split) for f in resolve(tmp_path).files] == [("code", "train"), ("math", "step-100")]
    assert paths(resolve(tmp_path, config="math")) == ["m/a.jsonl"]
    assert paths(resolve(tmp_path, splits=["train"])) == ["c/b.jsonl"]
    for wrong in ({"config": "physics"}, {"config": "math", "splits": ["train"]}):
        with pytest.raises(NothingToReadError, match="math/step-100"):
            resolve(tmp_path, **wrong)


def test_split_names_that_meet_are_refused_until_one_is_chosen(tmp_path):
    fill(tmp_path, "step-100/d.jsonl", "step 100/d.jsonl")
    entries = "".join(f"  - split: {name}\n    path: {name}/d.jsonl\n" for name in ("step-100", "step 100"))
    fill(tmp_path, "README.md", body=f"---\nconfigs:\n- config_name: default\n  data_files:\n{entries}---\n")
    with pytest.raises(DataRefusedError, match="split"):
        resolve(tmp_path)
    assert len(resolve(tmp_path, splits=["step 100"]).files) == 1


@pytest.mark.parametrize("card", ["---\nconfigs: [\n---\n", "---\nopen: 1\n", "---\n- 1\n---\n"])
def test_a_broken_card_is_a_warning(tmp_path, card):
    fill(tmp_path, "train.jsonl")
    fill(tmp_path, "README.md", body=card)
    snapshot = resolve(tmp_path)
    assert (paths(snapshot), snapshot.card) == (["train.jsonl"], {})
    assert "README.md is broken" in snapshot.warnings[0]


def test_the_card_is_given(tmp_path):
    fill(tmp_path, "train.jsonl")
    fill(tmp_path, "README.md", body="---\nlicense: mit\n---\n")
    assert resolve(tmp_path).card == {"license": "mit"}


def test_a_second_run_opens_no_data_file(tmp_path, monkeypatch):
    root = tmp_path / "root"
    fill(root, *(f"train_{i}.jsonl" for i in range(20)))
    first = resolve_local(str(root), "toy", digest=StatIndex(tmp_path / "index").digest)
    for file in root.iterdir():
        file.chmod(0)
    monkeypatch.setattr(Path, "open", lambda *_args, **_kwargs: pytest.fail("a data file was opened"))
    assert resolve_local(str(root), "toy", digest=StatIndex(tmp_path / "index").digest) == first
