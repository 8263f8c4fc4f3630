"""The pages as the tests see them: code blocks, tables, links."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
DOCS = ROOT / "docs"
README = ROOT / "README.md"

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


class Session(NamedTuple):
    """A command of a console block, and what it prints."""

    command: str
    output: list[str]


def blocks(page: Path, language: str) -> list[str]:
    """Give the fenced blocks of a language, in order."""
    return [code for found, code in _FENCED.findall(page.read_text()) if found == language]


def sessions(page: Path) -> list[Session]:
    """Give the commands of a page's console blocks with their outputs; the demo prints a command itself."""
    found: list[Session] = []
    for block in blocks(page, "console"):
        for i, line in enumerate(block.splitlines()):
            if line.startswith("$ ") and not (i and block.startswith("$ make demo")):
                found.append(Session(line[2:], []))
            else:
                found[-1].output.append(line)
    return found


def table(page: Path, heading: str, *, columns: int | None = None) -> list[list[str]]:
    """Give the rows of the first table below a heading, cells without backticks around them."""
    text = section(page, heading)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    head = lines.index(next(line for line in lines if set(line) <= set("|- ")))
    rows = []
    for line in text[text.index(lines[head]) :].splitlines()[1:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return [row[:columns] for row in rows]


def section(page: Path, heading: str) -> str:
    """Give the text from a heading to the next one of any level."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    found = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^#|\Z)", text, re.DOTALL | re.MULTILINE)
    assert found, f"{page.name} has no section {heading!r}"
    return found[1]


def links(page: Path) -> list[str]:
    """Give the targets of a page's links."""
    return _LINK.findall(re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE))


def anchors(page: Path) -> set[str]:
    """Give the anchors of a page's headings, as GitHub names them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def unquoted(cell: str) -> str:
    """Take the backticks off a cell."""
    return cell.strip("`")
