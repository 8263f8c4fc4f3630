"""docs/errors.md shows the messages that are given, each under its heading."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import Mill
from tests.docs.mistakes import MISTAKES, message_of
from tests.docs.pages import DOCS

PAGE = (DOCS / "errors.md").read_text()


def test_each_mistake_has_its_section() -> None:
    assert re.findall(r"^### (.*)$", PAGE, re.MULTILINE) == list(MISTAKES)


@pytest.mark.parametrize("heading", MISTAKES)
def test_the_message_shown_is_the_one_given(heading: str, tmp_path: Path) -> None:
    shown = re.search(rf"^### {re.escape(heading)}\n(?:(?!^#).)*?^```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert shown, heading
    assert shown[1].split() == message_of(heading, Mill(tmp_path / "mill"), tmp_path).split()
