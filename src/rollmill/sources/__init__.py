"""Sources resolved to snapshots: which files, which bytes, which config and split."""

from __future__ import annotations

from rollmill.sources.card import declared_splits, front_matter
from rollmill.sources.index import Fingerprint, StatIndex, verify_unchanged
from rollmill.sources.local import resolve_local

__all__ = ["Fingerprint", "StatIndex", "declared_splits", "front_matter", "resolve_local", "verify_unchanged"]
