import pytest

from rollmill.sources.split_names import split_by_keyword, split_of_shard, splits_by_convention


@pytest.mark.parametrize(
    ("path", "split"),
    [
        ("data/train-00000-of-00002.parquet", "train"),
        ("train_89-00000-of-00001.parquet", "train_89"),
        ("v1.0-00000-of-00001-0a1b2c.parquet", "v1.0"),
        ("test-00000-of-00001.jsonl.gz", "test"),
        ("my-train-00000-of-00001.parquet", None),
        ("train-00000.parquet", None),
    ],
)
def test_shard_names_tell_their_split(path, split):
    assert split_of_shard(path) == split


@pytest.mark.parametrize(
    ("path", "split"),
    [
        ("train.jsonl", "train"),
        ("training-set/x.jsonl", "train"),
        ("my_dev_rollouts.jsonl", "validation"),
        ("val2.jsonl", "validation"),
        ("eval/train-notes.jsonl", "test"),
        ("test/train/x.jsonl", "train"),
        ("notes of a train.jsonl", "train"),
        ("www_farodevigo_es.jsonl", None),
        ("contest_math.jsonl", None),
        ("seqeval_runs.jsonl", None),
        ("Train.jsonl", None),
        ("train_and_test.jsonl", None),
    ],
)
def test_words_count_only_between_separators(path, split):
    assert split_by_keyword(path) == split


def test_all_files_with_a_word_keep_their_splits():
    assert splits_by_convention(["train/a.jsonl", "b_test.jsonl"]) == (
        {"train/a.jsonl": "train", "b_test.jsonl": "test"},
        [],
    )


def test_files_without_any_word_are_train():
    assert splits_by_convention(["a.jsonl", "b.jsonl"]) == ({"a.jsonl": "train", "b.jsonl": "train"}, [])


def test_if_only_some_have_a_word_all_are_train_and_it_is_said():
    splits, (warning,) = splits_by_convention(["my_test_rollouts.jsonl", "contest.jsonl"])
    assert set(splits.values()) == {"train"}
    assert "my_test_rollouts.jsonl (test)" in warning
    assert "contest.jsonl" in warning


def test_a_stray_file_among_shards_does_not_mix_test_into_train():
    shards = ["train-00000-of-00001.parquet", "test-00000-of-00001.parquet"]
    splits, (warning,) = splits_by_convention([*shards, "extra.parquet"])
    assert splits == {shards[0]: "train", shards[1]: "test", "extra.parquet": "train"}
    assert "extra.parquet" in warning
