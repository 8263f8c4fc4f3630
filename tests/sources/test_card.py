import pytest

from rollmill.sources.card import declared_size, declared_splits, front_matter, infos, name_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nlicense: mit\n---\n# Toy\n", {"license": "mit"}),
        ("\ufeff---\r\nlicense: mit\r\n---\r\n", {"license": "mit"}),
        ("---\n---\n", {}),
        ("# no block\n---\na: 1\n---\n", {}),
        ("", {}),
    ],
)
def test_front_matter_is_the_block_at_the_head(text, expected):
    assert front_matter(text) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("---\na: 1\n", "not closed"),
        ("---\na: [1\nb: }\n---\n", "line"),
        ("---\n- a\n---\n", "no mapping"),
        ("---\na: !!python/object:os.system x\n---\n", "can't be parsed"),
        ("---\na: 2024-99-99\n---\n", "can't be parsed"),
    ],
)
def test_a_broken_block_says_why(text, why):
    with pytest.raises(ValueError, match=why):
        front_matter(text)


SPLITS = [{"name": "train", "num_examples": 5, "num_bytes": 10}, {"name": "test", "num_examples": "many"}, 7]
FACTS = {"train": {"num_examples": 5, "num_bytes": 10}, "test": {}}


@pytest.mark.parametrize(
    ("info", "config", "expected"),
    [
        ({"splits": SPLITS}, "default", FACTS),
        ({"config_name": "math", "splits": SPLITS}, "math", FACTS),
        ({"config_name": "math", "splits": SPLITS}, "default", {}),
        ([{"config_name": "a", "splits": []}, {"config_name": "b", "splits": SPLITS}], "b", FACTS),
        ({"splits": {"train": {"num_examples": 1}}}, "default", {"train": {"num_examples": 1}}),
        ({"splits": "lots"}, "default", {}),
        ("nonsense", "default", {}),
        (None, "default", {}),
    ],
)
def test_declared_splits_are_taken_in_every_form(info, config, expected):
    assert declared_splits({"dataset_info": info}, config) == expected


@pytest.mark.parametrize("value", [-1, 2**63, 1.5, "7", True, None, [1], float("nan")])
def test_a_size_that_is_no_count_declares_nothing(value):
    card = {"dataset_info": {"download_size": value, "dataset_size": 7, "splits": [{"name": "a", "num_bytes": value}]}}
    assert declared_size(card, "default", "download_size") is None
    assert declared_size(card, "default", "dataset_size") == 7
    assert declared_size(card, "other", "dataset_size") is None
    assert declared_splits(card, "default") == {"a": {}}


def test_the_first_block_of_a_config_counts():
    assert infos({"dataset_info": [{"config_name": "a", "x": 1}, 7, {"config_name": "a", "x": 2}, {"x": 3}]}) == {
        "a": {"config_name": "a", "x": 1},
        "default": {"x": 3},
    }
    assert infos({"dataset_info": [{"config_name": ["a"]}]}) == {}


def test_a_name_is_never_made_of_a_list():
    assert [name_of(value) for value in (7, "a", None)] == ["7", "a", "None"]
    assert [name_of(value) for value in (["a"], {"a": 1}, ("a",), 10**5000)] == [None] * 4
