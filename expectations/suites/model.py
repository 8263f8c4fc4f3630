"""A suite as a value: what is expected, how severe it is, why a record is put aside. Its digest enters keys."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rollmill.checks import columns_of

Severity = Literal["critical", "warning", "info"]


@dataclass(frozen=True)
class Check:
    """One expectation of Great Expectations: its type (snake case) and keyword arguments, JSON values only.

    `reason` is the stable code under which a failing record is put aside: needed by critical row-level checks.
    """

    type: str
    kwargs: Mapping[str, Any]
    severity: Severity = "critical"
    reason: str | None = None

    def __hash__(self) -> int:
        return hash(_canonical(self.as_dict()))

    @property
    def meta(self) -> dict[str, str]:
        """What the expectation carries as `meta`."""
        return {} if self.reason is None else {"reason": self.reason}

    def as_dict(self) -> dict[str, Any]:
        """Give what the digest covers: all of it."""
        return {"type": self.type, "kwargs": dict(self.kwargs), "severity": self.severity, "meta": self.meta}


@dataclass(frozen=True)
class Suite:
    """Checks in order: a record counts under the first reason that applies. The name is not part of the digest."""

    name: str
    checks: tuple[Check, ...]

    @property
    def columns(self) -> set[str]:
        """The columns that the checks look at."""
        return {name for check in self.checks for name in columns_of(check.kwargs)}


def suite_digest(suite: Suite) -> str:
    """Give the SHA-256 of the suite's checks in order, as hex, over canonical JSON."""
    return hashlib.sha256(_canonical([check.as_dict() for check in suite.checks]).encode()).hexdigest()


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
