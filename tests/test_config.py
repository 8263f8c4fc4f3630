from __future__ import annotations

import os
from pathlib import Path

import pytest

from rollmill.config import Pipeline, build_pipeline, load_pipeline, slug
from rollmill.errors import ConfigError

GOOD = """\
name: math
sources:
  - uri: raw/qwen2.5-rollouts
  - uri: raw/train.jsonl.gz
    name: lines
    layout: prompt_response
    options: {reward_kind: outcome}
destination: out
validation:
  max_quarantine: 0.05
"""


def load(tmp_path: Path, text: str | bytes) -> Pipeline:
    path = tmp_path / "pipeline.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return load_pipeline(path)


def refusal(tmp_path: Path, text: str | bytes) -> str:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert caught.value.file == str(tmp_path / "pipeline.yaml")
    assert "pipeline.yaml" in caught.value.message
    return caught.value.message


def test_a_pipeline_file_is_read_with_its_defaults(tmp_path: Path) -> None:
    pipeline = load(tmp_path, GOOD)
    assert pipeline.name == "math"
    assert [source.slug for source in pipeline.sources] == ["qwen2.5-rollouts", "lines"]
    assert [source.layout for source in pipeline.sources] == ["auto", "prompt_response"]
    assert pipeline.validation.max_quarantine == 0.05
    assert pipeline.allow_shrink is False
    assert pipeline.store_path.name == "store"


def test_relative_paths_are_relative_to_the_folder_of_the_file(tmp_path: Path) -> None:
    pipeline = load(tmp_path, GOOD + "store: ../store\n")
    assert pipeline.sources[0].uri == str(tmp_path / "raw/qwen2.5-rollouts")
    assert pipeline.destination_path == tmp_path / "out"
    assert pipeline.store_path == tmp_path.parent / "store"


def test_paths_of_flags_are_relative_to_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pipeline = build_pipeline(name="x", sources=[{"uri": "raw"}], destination="out")
    assert pipeline.destination_path == tmp_path / "out"


def test_absolute_paths_home_and_file_uris_stay_what_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    pipeline = load(tmp_path, "name: x\nsources:\n- uri: file:///data/a%20b\n- uri: ~/c\ndestination: /out\n")
    assert [source.slug for source in pipeline.sources] == ["a-b", "c"]
    assert pipeline.sources[1].uri == str(tmp_path / "home/c")
    assert pipeline.destination_path == Path("/out")


@pytest.mark.parametrize(
    ("line", "text", "words"),
    [
        (6, GOOD.replace("layout:", "layot:"), ["sources.1.layot", "Did you mean `layout`?"]),
        (10, GOOD.replace("max_quarantine", "max_quarentine"), ["max_quarentine", "Did you mean `max_quarantine`?"]),
        (11, GOOD + "zzz: 1\n", ["zzz", "Known keys: name, sources, destination"]),
        (1, "sources: [{uri: a}]\ndestination: b\n", ["`name` is missing"]),
        (3, "name: a\nsources:\n- layout: auto\ndestination: b\n", ["`sources.0.uri` is missing"]),
        (10, GOOD.replace("0.05", "5"), ["validation.max_quarantine", "less than or equal to 1"]),
        (10, GOOD.replace("0.05", "a lot"), ["validation.max_quarantine", "number"]),
        (11, GOOD + "workers: 0\n", ["workers", "greater than or equal to 1"]),
        (1, GOOD.replace("name: math", "name: my data"), ["name", "'my-data' would do"]),
        (1, GOOD.replace("name: math", "name: ../x"), ["name", "letters, digits"]),
        (4, GOOD.replace("{reward_kind: outcome}", "{reward_kind: joy}"), ["reward_kind", "'joy'", "outcome"]),
        (4, GOOD.replace("{reward_kind: outcome}", "{colour: red}"), ["no option 'colour'", "reward_kind"]),
        (4, GOOD.replace("layout: prompt_response", "layout: verl"), ["'verl'", "prompt_response"]),
        (2, "name: a\nsources: []\ndestination: b\n", ["sources", "at least 1"]),
        (2, "name: a\nsources: [raw]\ndestination: b\n", ["sources.0", "dictionary"]),
        (11, GOOD + "name: other\n", ["`name` is given twice"]),
        (5, GOOD.replace("    name: lines\n", "    uri: again\n"), ["`uri` is given twice"]),
    ],
)
def test_a_wrong_file_is_told_by_line_and_key(tmp_path: Path, line: int, text: str, words: list[str]) -> None:
    message = refusal(tmp_path, text)
    assert f"line {line}:" in message
    assert "\n" not in message, "one problem is one line"
    for word in words:
        assert word in message


def test_all_wrong_keys_are_told_at_once(tmp_path: Path) -> None:
    message = refusal(tmp_path, GOOD.replace("name: math", "nam: math").replace("0.05", "7"))
    assert [f"line {n}:" in message for n in (1, 10)] == [True, True]
    assert "Did you mean `name`?" in message


def test_two_sources_of_one_name_are_refused(tmp_path: Path) -> None:
    message = refusal(tmp_path, "name: a\nsources: [{uri: x/train}, {uri: y/train}]\ndestination: b\n")
    assert "two sources are named 'train'" in message


@pytest.mark.parametrize("uri", ["hf://datasets/owner/name", "s3://bucket/prefix", "https://host/data.parquet"])
def test_remote_sources_are_refused_for_now(tmp_path: Path, uri: str) -> None:
    message = refusal(tmp_path, f"name: a\nsources: [{{uri: '{uri}'}}]\ndestination: b\n")
    assert uri.split("://", maxsplit=1)[0] + "://" in message
    assert "not supported yet" in message


@pytest.mark.parametrize(
    ("uri", "word"),
    [
        ("https://me:s3cr3t@host/x", "user name or password"),
        ("s3://s3cr3t@bucket/x", "user name or password"),
        ("https://host/x?X-Amz-Signature=s3cr3t", "signed"),
    ],
)
@pytest.mark.parametrize("key", ["source", "destination", "store"])
def test_uris_with_secrets_are_refused_without_showing_them(tmp_path: Path, uri: str, word: str, key: str) -> None:
    places = {"source": "x", "destination": "y", "store": "z"} | {key: uri}
    text = "name: a\nsources: [{{uri: '{source}'}}]\ndestination: '{destination}'\nstore: '{store}'\n"
    message = refusal(tmp_path, text.format(**places))
    assert word in message
    assert "s3cr3t" not in message


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (b"name: \xff\xfe", "utf-8"),
        ("", "must hold keys and values"),
        ("- name: a\n", "must hold keys and values"),
        ("just words", "must hold keys and values"),
        ("name: [", "not valid YAML"),
        ("name: 2021-13-45\n", "not valid YAML"),
        ("a: " + "[" * 1500, "not valid YAML"),
    ],
)
def test_what_is_no_yaml_mapping_is_refused(tmp_path: Path, text: str | bytes, word: str) -> None:
    assert word in refusal(tmp_path, text)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be read"):
        load_pipeline(tmp_path / "nowhere.yaml")


def test_yaml_runs_no_code(tmp_path: Path) -> None:
    made = tmp_path / "made"
    message = refusal(tmp_path, f"name: !!python/object/apply:os.mkdir ['{made}']\n")
    assert "not valid YAML" in message
    assert not made.exists()


def test_flags_are_explained_by_key() -> None:
    with pytest.raises(ConfigError) as caught:
        build_pipeline(name="x", sources=[{"uri": "a"}], destination="b", validation={"max_quarantine": -1})
    assert "validation.max_quarantine" in caught.value.message


def test_names_become_slugs() -> None:
    assert [slug(name) for name in ("a b/c", "Qwen2.5", "-.", "é")] == ["a-b-c", "Qwen2.5", "rollouts", "rollouts"]


def test_the_store_is_by_default_in_the_users_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    pipeline = build_pipeline(name="x", sources=[{"uri": "a"}], destination="b")
    assert pipeline.store_path.name == "store"
    if os.name == "posix" and os.uname().sysname == "Linux":
        assert pipeline.store_path == tmp_path / "rollmill" / "store"


CLAIMS = "name: a\ndestination: b\nsources:\n- uri: x\n  claims:\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("row: 4", "line 6: there is no key `sources.0.claims.row`. Did you mean `rows`?"),
        ("rows: many", "line 6: `sources.0.claims.rows`"),
        ("rows: '16710'", "line 6: `sources.0.claims.rows`"),
        ("rows: true", "line 6: `sources.0.claims.rows`"),
        ("splits: -1", "line 6: `sources.0.claims.splits`"),
        ("rows_by_split: {train: 1.5}", "line 6: `sources.0.claims.rows_by_split.train`"),
        ("columns: reward", "line 6: `sources.0.claims.columns`"),
    ],
)
def test_claims_are_checked_by_key_and_line(tmp_path: Path, line: str, said: str) -> None:
    assert said in refusal(tmp_path, f"{CLAIMS}    {line}\n")


def test_claims_are_read(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(f"{CLAIMS}    rows: 4\n    rows_by_split: {{train: 4}}\n    columns: [prompt]\n")
    claims = load_pipeline(path).sources[0].claims
    assert (claims.rows, claims.rollouts, claims.splits) == (4, None, None)
    assert (claims.rows_by_split, claims.columns) == ({"train": 4}, ("prompt",))
