import pytest

from rollmill.publish import DataFile, merged_split, plan_configs


def data_file(source: str, split: str, content: str, *, config: str = "default", rows: int = 2) -> DataFile:
    return DataFile.of(source, config, split, sha256=content * 64, size=9, rows=rows, key=content)


@pytest.mark.parametrize(
    ("split", "merged"),
    [
        ("train", "train"),
        ("train_12", "train"),
        ("train-1", "train"),
        ("TRAIN", "train"),
        ("train_test_mix", "train"),
        ("checkpoint_7", "train"),
        ("", "train"),
        ("ünïcode", "train"),
        ("latest", "train"),
        ("contest", "train"),
        ("validation", "validation"),
        ("valid", "validation"),
        ("val2", "validation"),
        ("dev_1", "validation"),
        ("develop", "train"),
        ("test", "test"),
        ("test_prefs", "test"),
        ("math_test", "test"),
        ("eval-3", "test"),
        ("evaluation", "test"),
        ("held_out", "test"),
    ],
)
def test_the_merge_rule(split: str, merged: str) -> None:
    assert merged_split(split) == merged


def test_default_comes_first_and_merges_in_order() -> None:
    files = [
        data_file("a", "train_2", "f"),
        data_file("a", "train_2", "0"),
        data_file("a", "eval", "1"),
        data_file("b", "train_1", "2"),
    ]
    plan = plan_configs(files)
    assert [config.name for config in plan.configs] == ["default", "a", "b"]
    default, a, _ = plan.configs
    assert [(split.name, split.rows) for split in default.splits] == [("train", 6), ("test", 2)]
    assert default.splits[0].paths == (files[0].path, files[1].path, files[3].path)
    assert [(split.name, split.paths) for split in a.splits] == [
        ("train_2", (files[0].path, files[1].path)),
        ("eval", (files[2].path,)),
    ]
    assert [(row.split, row.merged_split) for row in plan.mapping] == [
        ("train_2", "train"),
        ("eval", "test"),
        ("train_1", "train"),
    ]


def test_source_configs_are_named_after_the_source() -> None:
    files = [
        data_file("a", "train", "0"),
        data_file("a", "train", "1", config="main"),
        data_file("a.main", "train", "2"),
        data_file("default", "train", "3"),
        data_file("Default", "train", "4"),
    ]
    names = [config.name for config in plan_configs(files).configs]
    assert names[:3] == ["default", "a", "a.main"]
    assert names[3].startswith("a.main_")
    assert names[4] == "default_source"
    assert names[5].startswith("default_source_")


def test_splits_that_would_fall_together_stay_apart() -> None:
    splits = ["train_1-x", "train_1_x", "Train_1_x", "all"]
    _, own = plan_configs([data_file("a", split, str(place)) for place, split in enumerate(splits)]).configs
    names = [split.name for split in own.splits]
    assert names[0] == "train_1_x"
    assert len({name.lower() for name in names}) == 4
    assert names[3] == "all_"


def test_splits_without_rows_are_left_out() -> None:
    plan = plan_configs([data_file("a", "train", "0"), data_file("a", "empty", "1", rows=0)])
    assert [split.name for split in plan.configs[1].splits] == ["train"]
    assert plan_configs([data_file("a", "empty", "1", rows=0)]).configs == ()
