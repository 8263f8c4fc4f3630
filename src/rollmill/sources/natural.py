"""Natural order: train_2 stands before train_10."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"(\d+)")

Key = tuple[tuple[tuple[int, int, str], ...], ...]


def natural_key(path: str) -> tuple[Key, str]:
    """Give the sort key of a POSIX path or a name: numbers by value, folders part by part, the text itself last."""
    return tuple(_part_key(part) for part in path.split("/")), path


def _part_key(part: str) -> tuple[tuple[int, int, str], ...]:
    pieces = (piece for piece in _DIGITS.split(part) if piece)
    return tuple((0, int(piece), "") if piece.isdecimal() else (1, 0, piece) for piece in pieces)
