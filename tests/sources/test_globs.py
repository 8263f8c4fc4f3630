import pytest

from rollmill.sources.globs import matching

PATHS = [
    "data/train_1-0.parquet",
    "data/train_10-0.parquet",
    "data/deep/er/x.parquet",
    "run [1]/train.jsonl",
    "run 1/train.jsonl",
    "a#b/100%25.jsonl",
    "top.jsonl",
]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("data/train_1-*", [PATHS[0]]),
        ("data/train_1*", PATHS[:2]),
        ("data/*", PATHS[:2]),
        ("data/**", PATHS[:3]),
        ("**", PATHS),
        ("**/*.jsonl", PATHS[3:]),
        ("data/**/*.parquet", PATHS[:3]),
        ("*.jsonl", [PATHS[6]]),
        ("./top.jsonl", [PATHS[6]]),
        ("to?.jsonl", [PATHS[6]]),
        ("data/train_[0-9]-*", [PATHS[0]]),
        ("data/train_[!2]-*", [PATHS[0]]),
        ("data/train_[!1]-*", []),
        ("run [1]/train.jsonl", [PATHS[3]]),
        ("run [[]1[]]/*", [PATHS[3]]),
        ("run [1]/*", [PATHS[4]]),
        ("a#b/100%25.jsonl", [PATHS[5]]),
        ("data", PATHS[:3]),
        ("data/", PATHS[:3]),
        ("dat", []),
        ("data/train_[", []),
        ("data/train_[z-a]*", []),
        ("/data/*", PATHS[:2]),
    ],
)
def test_a_pattern_names_paths_of_the_listing(pattern, expected):
    assert matching(pattern, PATHS) == expected


def test_a_pattern_starts_from_its_data_dir():
    assert matching("*.parquet", PATHS, base="./data/") == PATHS[:2]
