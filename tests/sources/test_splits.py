from typing import Any

import pytest

from rollmill.errors import DataRefusedError
from rollmill.sources.splits import Placed, check_names, declared_files, place

PATHS = ["data/train_1-0.parquet", "data/train_2-0.parquet", "data/train_10-0.parquet", "other.jsonl"]


def placed(card, paths=PATHS):
    return [(file.config, file.split, file.path) for file in place(paths, card).files]


def files(data_files, **block):
    return {"configs": [{"config_name": "default", "data_files": data_files, **block}]}


@pytest.mark.parametrize(
    ("data_files", "splits"),
    [
        ("data/*", ["train"] * 3),
        (["data/train_1-*", "data/train_2-*"], ["train"] * 2),
        ({"a": "data/train_1-*", "b": ["data/train_2-*", "data/train_10-*"]}, ["a", "b", "b"]),
        ([{"split": "train_10", "path": PATHS[2]}, {"split": "train_2", "path": [PATHS[1]]}], ["train_2", "train_10"]),
        ([{"split": 7, "path": "other.jsonl"}], ["7"]),
    ],
)
def test_the_card_decides_in_every_form(data_files, splits):
    assert [split for _, split, _ in placed(files(data_files))] == splits


def test_splits_and_files_stand_in_natural_order():
    card = files([{"split": f"train_{i}", "path": f"data/train_{i}-*"} for i in (10, 2, 1)])
    assert [split for _, split, _ in placed(card)] == ["train_1", "train_2", "train_10"]


def test_files_that_the_card_leaves_out_are_listed_as_skipped():
    skipped = place(PATHS, files("data/*")).skipped
    assert [(entry.path, entry.why) for entry in skipped] == [("other.jsonl", "not named by the card's `configs`")]


def test_patterns_start_from_data_dir_which_alone_means_conventions():
    assert len(placed(files("*", data_dir="data"))) == 3
    card = {"configs": [{"config_name": "math", "data_dir": "data"}]}
    assert placed(card, ["data/test.jsonl", "data/train.jsonl", "x.jsonl"]) == [
        ("math", "test", "data/test.jsonl"),
        ("math", "train", "data/train.jsonl"),
    ]


def test_what_the_card_names_is_listed_whether_it_is_there_or_not():
    card = files({"train": ["data/*", "more/*"], "test": "gone.parquet"})
    card["configs"].append({"config_name": "a", "data_dir": "sub", "data_files": "x*"})
    card["configs"].append({"config_name": "b", "data_dir": 7, "data_files": 7})
    assert list(declared_files(card)) == [
        ("default", "train", "data/*", ""),
        ("default", "train", "more/*", ""),
        ("default", "test", "gone.parquet", ""),
        ("a", "train", "x*", "sub"),
    ]
    assert list(declared_files({"configs": "x"})) == []


def test_names_that_are_no_text_are_passed_over():
    bomb: list[Any] = ["x"]
    for _ in range(60):
        bomb = [bomb, bomb]
    assert place(["train.jsonl"], {"configs": [{"config_name": bomb, "data_files": "*"}]}).warnings
    assert place(["train.jsonl"], files([{"split": bomb, "path": "*"}])).warnings


def test_a_card_that_names_nothing_that_is_there_gives_way_to_conventions():
    placement = place(["train.jsonl"], files("gone/*"))
    assert [file.path for file in placement.files] == ["train.jsonl"]
    assert len(placement.warnings) == 1


@pytest.mark.parametrize(
    "configs", ["x", ["x"], [{"data_files": 7}], [{"data_files": [{"split": "a"}]}], [{"data_files": [7]}]]
)
def test_a_block_of_an_unknown_form_is_a_warning(configs):
    placement = place(["train.jsonl"], {"configs": configs})
    assert [(file.config, file.split) for file in placement.files] == [("default", "train")]
    assert placement.warnings


def test_a_file_in_two_splits_is_read_for_both_and_it_is_said():
    placement = place(["a.jsonl"], files({"x": "a.jsonl", "y": "*.jsonl"}))
    assert [file.split for file in placement.files] == ["x", "y"]
    assert "2 times" in placement.warnings[-1]


def test_two_patterns_of_one_split_read_a_file_once():
    assert len(placed(files(["a.jsonl", "*.jsonl"]), ["a.jsonl"])) == 1


def test_odd_split_names_are_kept_but_two_must_not_meet():
    check_names([Placed("a", "default", "step-100"), Placed("b", "default", "v1.0"), Placed("c", "x", "step 100")])
    with pytest.raises(DataRefusedError, match="split") as caught:
        check_names([Placed("a", "default", "step-100"), Placed("b", "default", "step 100")])
    assert "'step-100'" in caught.value.message
    assert "'step 100'" in caught.value.message


@pytest.mark.parametrize("name", ["", " ", "..", "a/../b", "a/b", "a\\b", "a\nb", "a\x00", "a\x7f"])
def test_names_that_reach_elsewhere_are_refused(name):
    for placed_file in (Placed("a", name, "train"), Placed("a", "default", name)):
        with pytest.raises(DataRefusedError, match="can't be the name"):
            check_names([placed_file])
