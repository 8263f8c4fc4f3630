from __future__ import annotations

import pytest

from rollmill.progress import advance, begin, listening


class Notes:
    def __init__(self) -> None:
        self.heard: list[tuple[str, str, int]] = []

    def begin(self, stage: str, total: int) -> None:
        self.heard.append(("begin", stage, total))

    def advance(self, stage: str, done: int) -> None:
        self.heard.append(("advance", stage, done))


def test_a_listener_hears_what_happens_while_it_listens() -> None:
    one, two = Notes(), Notes()
    begin("ingest", 9)
    with listening(one):
        begin("ingest", 2)
        with listening(two):
            advance("ingest", 1)
        advance("ingest", 1)
    advance("ingest", 5)
    assert one.heard == [("begin", "ingest", 2), ("advance", "ingest", 1), ("advance", "ingest", 1)]
    assert two.heard == [("advance", "ingest", 1)]


def test_a_listener_is_gone_after_an_error() -> None:
    notes = Notes()
    with pytest.raises(RuntimeError, match="failed"), listening(notes):
        raise RuntimeError("failed")
    begin("ingest", 1)
    assert notes.heard == []
