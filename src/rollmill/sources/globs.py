"""File patterns of dataset cards, matched against a listing: never against a file system, never unquoted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_MAGIC = re.compile(r"[*?\[]")


def matching(pattern: str, paths: Sequence[str], *, base: str = "") -> list[str]:
    """Give the paths that a pattern names, in the order of `paths`.

    `*` and `?` stay within one folder, `**` as a whole part spans any number of them (also none), `[…]` and `[!…]`
    are one character. A path that equals the pattern is named by it even with such characters; a pattern that is a
    folder names all files in it. `base` is the folder that the pattern starts from.
    """
    full = _normal(f"{base}/{pattern}" if base else pattern)
    if full in paths:
        return [full]
    if not _MAGIC.search(full):
        return [path for path in paths if not full or path.startswith(full + "/")]
    regex = _compiled(full)
    return [path for path in paths if regex.fullmatch(path)]


def _normal(pattern: str) -> str:
    return "/".join(part for part in pattern.split("/") if part not in ("", "."))


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = pattern.split("/")
    out = ""
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "**":
            out += ".*" if last else "(?:[^/]+/)*"
        else:
            out += _part(part) + ("" if last else "/")
    return re.compile(out, re.DOTALL)


def _part(part: str) -> str:
    out = ""
    at = 0
    while at < len(part):
        char = part[at]
        end = part.find("]", at + 2) if char == "[" else -1
        if char == "*":
            out += "[^/]*"
        elif char == "?":
            out += "[^/]"
        elif end > 0:
            out += _class(part[at + 1 : end])
            at = end
        else:
            out += re.escape(char)
        at += 1
    return out


def _class(body: str) -> str:
    negated = body[0] in "!^"
    body = (body[1:] if negated else body).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    if not body:
        return re.escape("[!]" if negated else "[]")
    try:
        re.compile(f"[{body}]")
    except re.error:
        return re.escape(f"[{body}]")
    return f"(?!/)[{'^' if negated else ''}{body.replace('^', chr(92) + '^')}]"
