"""Suites of expectations, and the Great Expectations run that judges a stream of records by them.

Light to import: suites and digests need neither Great Expectations nor its 4 seconds. What runs a suite is loaded when
it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rollmill.expectations.judgement import Finding, Judgement
from rollmill.expectations.stream import Frames, FrameStream
from rollmill.expectations.suites import Check, Suite, digest_for, suite_digest, suite_for

if TYPE_CHECKING:
    from rollmill.expectations.validate import validate_stream

__all__ = [
    "Check",
    "Finding",
    "FrameStream",
    "Frames",
    "Judgement",
    "Suite",
    "digest_for",
    "suite_digest",
    "suite_for",
    "validate_stream",
]


def __getattr__(name: str) -> object:
    if name != "validate_stream":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rollmill.expectations.validate import validate_stream

    return validate_stream
