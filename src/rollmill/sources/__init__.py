"""Sources resolved to snapshots: which files, which bytes, which config and split."""

from __future__ import annotations

from rollmill.sources.card import declared_splits, front_matter
from rollmill.sources.index import StatIndex
from rollmill.sources.local import resolve_local

__all__ = ["StatIndex", "declared_splits", "front_matter", "resolve_local"]
