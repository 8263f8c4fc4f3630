from rollmill.sources.natural import natural_key


def test_numbers_stand_by_value_and_folders_part_by_part():
    names = ["train_10", "train_2", "train_2/b", "train", "a/10.x", "a/9.x", "b", "1", "02", "train_02"]
    assert sorted(names, key=natural_key) == [
        "1",
        "02",
        "a/9.x",
        "a/10.x",
        "b",
        "train",
        "train_02",
        "train_2",
        "train_2/b",
        "train_10",
    ]
