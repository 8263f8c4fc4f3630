"""Artifact keys: SHA-256 over canonical JSON of all that decides an artifact's bytes, and nothing else."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

INGEST_VERSION: Final = 2
SCAN_VERSION: Final = 2
READER_VERSION: Final = 1
"""Goes up when a format reader gives other rows, types or record numbers for the same bytes."""

VALIDATE_VERSION: Final = 2
NORMALIZE_VERSION: Final = 2
DATASET_VERSION: Final = 1
"""Goes up when a measure of the dataset is computed in another way; its limits are in the digests of the suites."""


def canonical_json(value: Any) -> bytes:
    """Render as JSON in one way only: sorted keys, no spaces, UTF-8, lone surrogates escaped.

    Raises ValueError on NaN and infinity.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace")


def digest_of(value: Any) -> str:
    """64 hex characters of SHA-256 over the canonical JSON of a value."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


_SEAL: Final = b'{"checksum":"%s",'


def sealed(value: dict[str, Any]) -> bytes:
    """Render a JSON object with the SHA-256 of its own canonical form in front, so that any flipped byte shows."""
    body = canonical_json(value)
    return _SEAL % hashlib.sha256(body).hexdigest().encode() + body[1:]


def unsealed(data: bytes) -> dict[str, Any]:
    """Read `sealed` back. Raises ValueError if it is not what was written."""
    start = len(_SEAL % (b"0" * 64))
    body = b"{" + data[start:]
    if data[:start] != _SEAL % hashlib.sha256(body).hexdigest().encode():
        raise ValueError("its checksum does not fit")
    value: dict[str, Any] = json.loads(body)
    return value
