"""One Prefect server for all flow tests of a process, started when the first one needs it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rollmill.flows.server import LocalServer


@pytest.fixture(scope="session")
def prefect_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a server, and keep Prefect's client in a home of its own. Set before Prefect is imported."""
    home = tmp_path_factory.mktemp("prefect")
    own = LocalServer()
    before = dict(os.environ)
    os.environ.update(
        PREFECT_HOME=str(home),
        PREFECT_LOGGING_LEVEL="CRITICAL",
        PREFECT_SERVER_ANALYTICS_ENABLED="false",
        DO_NOT_TRACK="1",
    )
    try:
        os.environ["PREFECT_API_URL"] = own.url()
        yield os.environ["PREFECT_API_URL"]
    finally:
        os.environ.clear()
        os.environ.update(before)
        own.stop()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A small generated source in a folder called `lab`."""
    from rollmill.generator import write_prompt_response

    return write_prompt_response(tmp_path / "lab", scale=0.002)
