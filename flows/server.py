"""Which Prefect server a run talks to: the one it is pointed at, else one of its own that ends with it.

Nothing here imports Prefect: asking whether a server is configured must not cost two seconds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import platformdirs

from rollmill.errors import AccessError

START_SECONDS = 180


def configured_server() -> str | None:
    """Give the API URL the environment or the active Prefect profile names, if any."""
    url = os.environ.get("PREFECT_API_URL")
    return url or _profile_url()


def _profile_url() -> str | None:
    home = Path(os.environ.get("PREFECT_HOME", "~/.prefect")).expanduser()
    path = Path(os.environ.get("PREFECT_PROFILES_PATH", home / "profiles.toml"))
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    name = os.environ.get("PREFECT_PROFILE") or content.get("active")
    profile = content.get("profiles", {}).get(name, {})
    return profile.get("PREFECT_API_URL") or None


class LocalServer:
    """A Prefect server of this run's own, starting in the background from construction on."""

    def __init__(self) -> None:
        cache = platformdirs.user_cache_dir("rollmill", appauthor=False)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "rollmill.flows.local_server", cache],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def url(self) -> str:
        """Wait until it serves, and give its API URL. Raises AccessError if it does not start."""
        out: IO[str] = self._process.stdout  # type: ignore[assignment]
        line = _read_line(out, START_SECONDS)
        if not line:
            self.stop()
            raise AccessError(
                "The Prefect server of this run did not start. Run `python -m rollmill.flows.local_server /tmp` to see "
                "why, or point PREFECT_API_URL at a server."
            )
        return f"http://127.0.0.1:{int(line)}/api"

    def stop(self) -> None:
        """End it, and wait for it."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _read_line(out: IO[str], seconds: float) -> str:
    import threading

    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.append(out.readline()), daemon=True)
    reader.start()
    reader.join(seconds)
    return lines[0].strip() if lines else ""


@contextmanager
def server(preload: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Point Prefect at a server for the time of a run. `preload` is called while an own server starts."""
    if configured_server():
        yield
        return
    own = LocalServer()
    try:
        _quiet_defaults()
        preload()
        with _settings(own):
            yield
    finally:
        own.stop()


def _quiet_defaults() -> None:
    """Keep Prefect's client quiet and off the network in runs without a server of the user's."""
    for name, value in {
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }.items():
        os.environ.setdefault(name, value)


@contextmanager
def _settings(own: LocalServer) -> Iterator[Any]:
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with temporary_settings({PREFECT_API_URL: own.url()}):
        yield
