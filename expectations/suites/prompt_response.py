"""The suite of the layout `prompt_response`: one prompt, one answer, at most one reward per record."""

from __future__ import annotations

import pyarrow as pa

from rollmill.expectations.suites.answers import answer_checks
from rollmill.expectations.suites.model import Suite


def prompt_response(schema: pa.Schema) -> Suite:
    """Give the suite for records with these columns: `prompt`, `response` and perhaps `reward`."""
    return Suite("prompt_response", tuple(answer_checks(schema, reward="reward")))
