"""How far a run is: stages tell, whoever runs them may listen. Nobody listening costs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Listener(Protocol):
    """Hears of progress, from any thread."""

    def begin(self, stage: str, total: int) -> None:
        """A stage begins; `total` counts what it has to do (sources in ingest, records elsewhere)."""

    def advance(self, stage: str, done: int) -> None:
        """So much more of it is done."""


_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let a listener hear of all progress in this process."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def begin(stage: str, total: int) -> None:
    """Tell that a stage begins."""
    for listener in _listeners:
        listener.begin(stage, total)


def advance(stage: str, done: int) -> None:
    """Tell that a stage got on."""
    for listener in _listeners:
        listener.advance(stage, done)
