from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rollmill.publish.card import escape, read_identity, render_card
from rollmill.publish.licenses import card_license

if TYPE_CHECKING:
    from tests.publish.conftest import Mill

HOSTILE = [
    "../x",
    "a|b",
    "<script>alert(1)</script>",
    "two\nlines",
    "---\nlicense: mit",
    "[x](javascript:1)",
    "\ud800",
    "`",
]


def front_of(card: bytes) -> dict[str, Any]:
    front: dict[str, Any] = yaml.safe_load(card.split(b"---\n")[1])
    return front


def test_front_matter_names_every_file(filled: Mill) -> None:
    manifest = filled.manifest()
    front = front_of(render_card(manifest, 7))
    assert front["rollmill"] == {"pipeline": "mill", "version": 7, "digest": manifest.digest}
    assert front["license"] == "mit"
    assert front["size_categories"] == ["n<1K"]
    assert [config["config_name"] for config in front["configs"]] == ["default", "alpha", "owner--Beta"]
    assert [config.get("default") for config in front["configs"]] == [True, None, None]
    default = front["configs"][0]["data_files"]
    assert [split["split"] for split in default] == ["train", "test"]
    assert [path for split in default for path in split["path"]] == [file.path for file in filled.files]


def test_the_page_tells_the_counts(filled: Mill) -> None:
    page = render_card(filled.manifest(), 1).decode()
    assert "16 source records in: 11 published as 11 rows, 5 put aside with a reason" in page
    assert "| owner/Beta | " in page
    assert r"| alpha | empty\_prompt | 1 |" in page
    assert "| alpha | default | empty | 1 | 0 | 1 |  |  |" in page
    assert "| row_id! | str | primary key |" in page


def test_the_page_tells_what_was_kept(filled: Mill) -> None:
    assert "## Kept" not in render_card(filled.manifest(), 1).decode()
    filled.kept["alpha"] = {"empty_response": 3}
    page = render_card(filled.manifest(), 1).decode()
    assert r"| alpha | empty\_response | 3 |" in page.split("## Kept")[1]


def test_the_card_is_a_pure_function(filled: Mill) -> None:
    assert render_card(filled.manifest(), 1) == render_card(filled.manifest(), 1)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_inert(mill: Mill, name: str) -> None:
    mill.add(name, name, 2, config=name)
    mill.license[name] = name
    mill.reasons[name] = {name: 1}
    manifest = mill.manifest(pipeline=name)
    card = render_card(manifest, 1)
    front = front_of(card)
    page = card.split(b"---\n", 2)[2].decode()
    assert front["license"] == "other"
    assert set(front) == {"rollmill", "license", "tags", "size_categories", "configs"}
    assert read_identity(card) == (1, manifest.digest)
    assert "<script" not in page
    assert "](javascript" not in page.replace(r"\]", "")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    for line in rows:
        assert len(re.findall(r"(?<!\\)\|", line)) in {4, 9, 10}


@given(st.text(st.characters(exclude_categories=[])))
def test_escaped_text_is_one_line_without_markup(text: str) -> None:
    line = escape(text)
    assert len(line.splitlines()) <= 1
    assert not re.search(r"[<>]|(?<!\\)(\\\\)*[|`*_\[\]]", line.replace("\\\\", ""))
    line.encode()


@pytest.mark.parametrize(
    ("licenses", "shown"),
    [
        ([], None),
        ([None, None], None),
        (["MIT", "mit "], "mit"),
        (["mit", None], "other"),
        (["mit", "apache-2.0"], "other"),
        (["my own"], "other"),
    ],
)
def test_license(licenses: list[str | None], shown: str | None) -> None:
    assert card_license(licenses) == shown


@pytest.mark.parametrize(
    "readme",
    [
        b"",
        b"# hand made",
        b"---\n: [\n---\n",
        b"---\nrollmill: 1\n---\n",
        b"---\nrollmill: {version: x, digest: 1}\n---\n",
    ],
)
def test_a_card_of_nobody_names_no_version(readme: bytes) -> None:
    assert read_identity(readme) is None


def test_identity_survives_hand_edits(filled: Mill) -> None:
    manifest = filled.manifest()
    card = render_card(manifest, 3)
    edited = (
        b"\xef\xbb\xbf"
        + card.replace(b"\n", b"\r\n").replace(b"tags:", b"pretty_name: Mine\r\ntags:")
        + b"\r\nmore\r\n---\r\n"
    )
    assert read_identity(edited) == (3, manifest.digest)
