"""Artifact keys: SHA-256 over canonical JSON of all that decides an artifact's bytes, and nothing else."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

INGEST_VERSION: Final = 1
SCAN_VERSION: Final = 1
READER_VERSION: Final = 1
"""Goes up when a format reader gives other rows, types or record numbers for the same bytes."""

VALIDATE_VERSION: Final = 1
NORMALIZE_VERSION: Final = 1


def canonical_json(value: Any) -> bytes:
    """Render as JSON in one way only: sorted keys, no spaces, UTF-8, lone surrogates escaped.

    Raises ValueError on NaN and infinity.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace")


def digest_of(value: Any) -> str:
    """64 hex characters of SHA-256 over the canonical JSON of a value."""
    return hashlib.sha256(canonical_json(value)).hexdigest()
