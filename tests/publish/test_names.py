import re

from hypothesis import given
from hypothesis import strategies as st

from rollmill.publish.names import MAX_SEGMENT, config_name, safe_segment, split_name, unique

ANY_NAME = st.one_of(st.text(), st.text(alphabet="aAbB01-._/~%|"), st.from_regex(r"[a-z0-9._/-]*--[0-9a-f]{12}"))


@given(ANY_NAME)
def test_a_segment_is_safe_whatever_the_name(name: str) -> None:
    segment = safe_segment(name)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", segment)
    assert segment.strip(".") == segment
    assert len(segment) <= MAX_SEGMENT


@given(ANY_NAME, ANY_NAME)
def test_different_names_never_share_a_segment(one: str, other: str) -> None:
    same = safe_segment(one).lower() == safe_segment(other).lower()
    assert same == (one == other)


def test_readable_names_stay_readable() -> None:
    assert safe_segment("train_1") == "train_1"
    assert safe_segment("owner/name") == "owner--name"
    assert safe_segment("../x").startswith("x--")
    assert safe_segment("Train") != safe_segment("train")
    assert safe_segment("con").startswith("con--")
    assert safe_segment("") == "name--e3b0c44298fc"


def test_near_collisions_stay_apart() -> None:
    names = ["a/b", "a--b", "a---b", "a-/b", "a/-b", "A/b", "a/B", "a/b/", "a//b", "a/b.", "a b", "a\nb", "a|b"]
    assert len({safe_segment(name).lower() for name in names}) == len(names)


@given(st.text())
def test_splits_are_legal_for_datasets(name: str) -> None:
    legal = split_name(name)
    assert re.fullmatch(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*", legal)
    assert legal.lower() != "all"


@given(st.text(), st.text())
def test_config_names_are_legal(source: str, config: str) -> None:
    name = config_name(source, config)
    assert re.fullmatch(r"[A-Za-z0-9._-]+", name)
    assert name.lower() != "default"


def test_unique_ignores_case_and_keeps_the_first() -> None:
    taken: set[str] = set()
    assert unique("train", "train", taken) == "train"
    assert unique("Train", "Train", taken) != "Train"
    assert unique("train", "train!", taken).startswith("train_")
    assert len(taken) == 3
