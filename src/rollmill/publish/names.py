"""Names that are safe everywhere: in paths of a destination, as `datasets` configs and as `datasets` splits.

Sources name their configs and splits as they like; what is published must suit Linux, macOS and Windows, object
stores and the Hub. The raw names stand in the manifest.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

MAX_SEGMENT: Final = 96
"""Longest path segment in characters (all of them ASCII)."""

_HASH_LENGTH: Final = 12
_PLAIN: Final = re.compile(r"[a-z0-9][a-z0-9._-]*")
_HASHED: Final = re.compile(rf".*--[0-9a-f]{{{_HASH_LENGTH}}}")
_RESERVED: Final = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")


def safe_segment(name: str) -> str:
    """Map any name to one path segment of `[A-Za-z0-9._-]`; different names never share one, whatever the case.

    Lower-case plain names stay, `owner/name` becomes `owner--name` (the Hub's own spelling); all others keep what is
    readable and get `--` and 12 hex characters of their SHA-256.
    """
    parts = name.split("/")
    if len(parts) <= 2 and all(_is_plain(part) for part in parts):  # noqa: PLR2004
        joined = "--".join(parts)
        if len(joined) <= MAX_SEGMENT and not _HASHED.fullmatch(joined):
            return joined
    stem = re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("._-")
    stem = stem[: MAX_SEGMENT - _HASH_LENGTH - 2].rstrip("._-") or "name"
    return f"{stem}--{_short_hash(name)}"


def config_name(source: str, config: str) -> str:
    """Name the published config of a source's config: the source's name, with `.<config>` unless that is `default`."""
    name = source if config in {"", "default"} else f"{source}.{config}"
    legal = re.sub(r"[^A-Za-z0-9._-]+", "-", name.replace("/", "--")).strip("._-")[:MAX_SEGMENT]
    return "default_source" if legal.lower() == "default" else legal or "source"


def split_name(split: str) -> str:
    r"""Map a source's split to a legal one of `datasets`: ASCII `\w+(\.\w+)*`, not the reserved `all`."""
    legal = re.sub(r"[^A-Za-z0-9_.]+", "_", split)
    legal = re.sub(r"\.{2,}", ".", legal).strip(".")[:MAX_SEGMENT].rstrip(".")
    return "all_" if legal.lower() == "all" else legal or "split"


def unique(name: str, raw: str, taken: set[str]) -> str:
    """Keep `name`, or add a hash of `raw` if `taken` holds it in any case; the result is added to `taken`."""
    chosen, salt = name, raw
    while chosen.lower() in taken:
        chosen = f"{name}_{_short_hash(salt)}"
        salt += "\0"
    taken.add(chosen.lower())
    return chosen


def _is_plain(part: str) -> bool:
    return (
        _PLAIN.fullmatch(part) is not None
        and "--" not in part
        and not part.endswith((".", "-"))
        and _RESERVED.fullmatch(part) is None
    )


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
