"""What differs from pandas, and may: each difference has a name, under which docs/expectations.md explains it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from rollmill.expectations import Check
from tests.expectations.engine.parity.both import Said

VALUES: Final = {"partial_unexpected_list", "partial_unexpected_counts", "unexpected_list"}


class Difference(NamedTuple):
    """A name, the members of the result that may differ (None: any, and success), and when."""

    name: str
    keys: set[str] | None
    when: Callable[[Check, Said, Said], bool]

    def explains(self, check: Check, ours: Said, theirs: Said) -> bool:
        if not self.when(check, ours, theirs):
            return False
        if self.keys is None:
            return True
        members = ours.result.keys() | theirs.result.keys()
        differing = {key for key in members if ours.result.get(key) != theirs.result.get(key)}
        return differing <= self.keys and (ours.success, ours.error) == (theirs.success, theirs.error)


def _repeated_text(check: Check, ours: Said, _: Said) -> bool:
    return "unique" in check.type and "within" not in check.type and not ours.result.get("partial_unexpected_list")


def _null_dates(check: Check, _: Said, theirs: Said) -> bool:
    shown = [*theirs.result.get("partial_unexpected_list", ()), theirs.result.get("observed_value")]
    return check.kwargs.get("column") == "d" and "NaT" in shown


def _counted(_: Check, ours: Said, theirs: Said) -> bool:
    return any(_odd(value) for value in theirs.result.get("partial_unexpected_list", ()))


def _odd(value: Any) -> bool:
    members = value if isinstance(value, list) else value.values() if isinstance(value, dict) else [value]
    return any(member is None or member == 0 for member in members)


DIFFERENCES: Final = (
    Difference("Values of duplicates", VALUES, _repeated_text),
    Difference("Missing dates", {*VALUES, "observed_value"}, _null_dates),
    Difference("Counts of failing values", {"partial_unexpected_counts"}, _counted),
    Difference("Look-around in regexes", {"details"}, lambda check, ours, _: "note" in ours.result.get("details", {})),
    Difference(
        "Ranges of dates",
        None,
        lambda check, ours, theirs: check.kwargs.get("column") == "d" and theirs.error and not ours.error,
    ),
    Difference(
        "KL divergence of nothing",
        {"details"},
        lambda check, ours, _: "kl_divergence" in check.type and ours.result.get("observed_value") is None,
    ),
)
