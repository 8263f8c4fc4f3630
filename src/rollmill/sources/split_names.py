"""Splits by convention: shard names, then the words that the Hub looks for in folder and file names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from rollmill.formats import split_ending

TRAIN = "train"

_KEYWORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing", "eval", "evaluation"),
}
_SPLIT_OF = {word: split for split, words in _KEYWORDS.items() for word in words}
_SEPARATORS = re.compile(r"[-._ 0-9]+")
_SHARD = re.compile(r"(?P<split>\w+(?:\.\w+)*)-\d{5,}-of-\d{5,}.*", re.DOTALL)
_SHOWN = 3


def split_of_shard(path: str) -> str | None:
    """Give the split of a shard's name (`train_89-00000-of-00001.parquet` is train_89), None for another name."""
    found = _SHARD.fullmatch(_stem(path))
    return found["split"] if found else None


def split_by_keyword(path: str) -> str | None:
    """Give the split that the path's words tell: the nearest folder first, then the file name.

    Words count only between separators (`-._ `, digits, ends); a name with words of two splits tells nothing.
    """
    pure = PurePosixPath(path)
    for part in (*reversed(pure.parts[:-1]), _stem(path)):
        found = {_SPLIT_OF[word] for word in _SEPARATORS.split(part) if word in _SPLIT_OF}
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def splits_by_convention(paths: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Give path -> split for all paths, and warnings in words.

    Shards have the split of their name. The others are told by keywords if each of them has one; else all of them are
    one `train` split, with a warning if some had a keyword.
    """
    shards = {path: split for path in paths if (split := split_of_shard(path)) is not None}
    others = [path for path in paths if path not in shards]
    words = {path: split for path in others if (split := split_by_keyword(path)) is not None}
    if len(words) == len(others):
        return shards | words, []
    warnings = []
    if words or shards:
        named = "; ".join(f"{path} ({split})" for path, split in list((words or shards).items())[:_SHOWN])
        plain = "; ".join([path for path in others if path not in words][:_SHOWN])
        which = "the files without a shard name" if shards else "all files"
        warnings.append(
            f"Only some file names tell a split ({named}; not {plain}), so {which} are taken as one split `{TRAIN}`."
            " Name the splits in the `configs` block of README.md to have others."
        )
    return shards | dict.fromkeys(others, TRAIN), warnings


def _stem(path: str) -> str:
    found = split_ending(path)
    return found.stem if found else PurePosixPath(path).name
