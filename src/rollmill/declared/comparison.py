"""One declared value beside the observed one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Verdict = Literal["equal", "close", "differs", "missing", "undeclared", "unchecked"]
Value = int | str | None

CARD: Final = "README.md"
_LONGEST: Final = 100
_DRIFT: Final = ("differs", "missing", "undeclared")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A declared value beside the observed one. `file` is where it was declared, `counted` what was compared.

    `close` is as equal as can be told, `missing` declared but not there, `undeclared` there but not declared, and
    `unchecked` could not be compared. Text is escaped and cut.
    """

    source: str
    field: str
    file: str
    declared: Value
    observed: Value
    counted: str
    verdict: Verdict

    @property
    def drifts(self) -> bool:
        """Whether what is declared is not what is there."""
        return self.verdict in _DRIFT

    def sentence(self) -> str:
        """Say in words what is declared and what is there."""
        held = "none" if self.observed is None else self.observed
        if self.verdict == "undeclared":
            return f"{self.source}: {self.file} does not declare {self.field}, the files hold {held} ({self.counted})."
        value = "" if self.declared is None else f" = {self.declared}"
        return f"{self.source}: {self.file} declares {self.field}{value}, the files hold {held} ({self.counted})."


@dataclass(frozen=True, slots=True)
class Declarer:
    """Who declares: a file of a source. Makes comparisons of what stands there."""

    source: str
    file: str = CARD

    def compare(
        self, field: str, declared: Value, observed: Value, counted: str, verdict: Verdict | None = None
    ) -> Comparison:
        """Compare two values: equal, differs, missing (nothing observed) or undeclared, unless the verdict is given."""
        if verdict is None:
            verdict = _verdict(declared, observed)
        return Comparison(self.source, shown(field), self.file, _shown(declared), _shown(observed), counted, verdict)


def shown(text: str) -> str:
    """Make text of a source fit for messages: what does not print is escaped, what is long is cut."""
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)


def listed(names: Sequence[str], most: int = 3) -> str:
    """List a few names, and how many there are if there are more."""
    few = ", ".join(names[:most])
    return few if len(names) <= most else f"{few}, … ({len(names)})"


def _shown(value: Value) -> Value:
    return shown(value) if isinstance(value, str) else value


def _verdict(declared: Value, observed: Value) -> Verdict:
    if observed is None:
        return "missing"
    if declared is None:
        return "undeclared"
    return "equal" if declared == observed else "differs"
