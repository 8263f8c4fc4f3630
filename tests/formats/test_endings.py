import pytest

from rollmill.formats import split_ending


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a/train.parquet", ("train", ".parquet", True)),
        ("train.JSONL", ("train", ".jsonl", True)),
        ("train.jsonl.gz", ("train", ".jsonl.gz", True)),
        ("v1.0.json.zst", ("v1.0", ".json.zst", True)),
        ("x.ndjson", ("x", ".ndjson", True)),
        ("x.csv", ("x", ".csv", False)),
        ("x.csv.gz", ("x", ".csv.gz", False)),
        ("x.json.xz", ("x", ".json.xz", False)),
        ("x.parquet.gz", ("x", ".parquet.gz", False)),
        ("README.md", None),
        ("x.txt", None),
        ("x.gz", None),
        (".jsonl", None),
    ],
)
def test_a_name_is_cut_at_its_data_ending(name, expected):
    assert split_ending(name) == expected
