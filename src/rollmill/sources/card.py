"""A dataset card: the YAML front matter of a README.md, and the facts that it declares."""

from __future__ import annotations

import re
from typing import Any

import yaml

_MARK = "---"
_LARGEST = 2**63 - 1
_FACT = re.compile(r"^- \*\*(\w+)\*\*: `([^`\n]*)`\s*$", re.MULTILINE)


def front_matter(text: str) -> dict[str, Any]:
    """Parse the YAML block at the head of a README.md; empty without one.

    Raises ValueError, in words, when the block is not closed, not YAML or no mapping.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != _MARK:
        return {}
    end = next((number for number, line in enumerate(lines[1:], start=1) if line.rstrip() == _MARK), None)
    if end is None:
        raise ValueError("the YAML block at its head is not closed with ---")
    try:
        value = yaml.safe_load("\n".join(lines[1:end]))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 2}" if mark is not None else ""
        raise ValueError(f"the YAML block at its head can't be parsed{where}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the YAML block at its head can't be parsed ({error})") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("the YAML block at its head is no mapping")  # noqa: TRY004 - callers catch one class
    return value


def listed_facts(text: str) -> dict[str, str]:
    """Give what lines of the form "- **key**: `value`" say; the first of a key counts."""
    return dict(reversed(_FACT.findall(text)))


def declared_splits(card: dict[str, Any], config: str) -> dict[str, dict[str, int]]:
    """Give what `dataset_info` declares for a config: split -> num_examples and num_bytes, where they are numbers.

    `dataset_info` is a mapping for one config or a list with one mapping a config; without a name it is `default`.
    What has another form declares nothing.
    """
    return _splits(infos(card).get(config, {}).get("splits"))


def declared_size(card: dict[str, Any], config: str, size: str) -> int | None:
    """Give the `dataset_size` or `download_size` of a config, in bytes; None if it is no number."""
    return _number(infos(card).get(config, {}).get(size))


def infos(card: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Give the blocks of `dataset_info` by config, the first of each."""
    info = card.get("dataset_info")
    blocks = info if isinstance(info, list) else [info]
    named = [(name_of(b.get("config_name", "default")), b) for b in blocks if isinstance(b, dict)]
    return {name: block for name, block in reversed(named) if name is not None}


def name_of(value: object) -> str | None:
    """Give a name as text, as YAML may have taken it for a number or date; None for what is no sensible scalar.

    A list or mapping is never made into text: in YAML, a few lines of aliases can stand for terabytes.
    """
    absurd = isinstance(value, int) and abs(value) > _LARGEST
    return None if absurd or isinstance(value, (dict, list, tuple, set)) else str(value)


def _splits(declared: object) -> dict[str, dict[str, int]]:
    if isinstance(declared, dict):
        named = [(name_of(name), split) for name, split in declared.items()]
    elif isinstance(declared, list):
        named = [(name_of(split["name"]), split) for split in declared if isinstance(split, dict) and "name" in split]
    else:
        return {}
    return {name: _numbers(split) for name, split in named if name is not None and isinstance(split, dict)}


def _numbers(split: dict[str, Any]) -> dict[str, int]:
    facts = ((fact, _number(split.get(fact))) for fact in ("num_examples", "num_bytes"))
    return {fact: value for fact, value in facts if value is not None}


def _number(value: object) -> int | None:
    """Give a count; None for what is no whole number, is negative or is beyond any file."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _LARGEST else None
