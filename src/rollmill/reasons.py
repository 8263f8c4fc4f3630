"""Reason codes: why a record is put aside, which codes can be kept, and which words are reserved."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

KEEPABLE: Final = (
    "empty_response",
    "reward_missing",
    "reward_not_a_number",
    "reward_not_finite",
    "reward_shape",
    "step_gap",
    "steps_after_end",
)
"""Codes of records that can be normalized as they are."""

NOT_KEEPABLE: Final[Mapping[str, str]] = {
    "bad_json": "such a record can't be read",
    "duplicate_key": "such a record can't be read",
    "invalid_utf8": "such a record can't be read",
    "duplicate_step": "two rows of a rollout would have the same step and candidate",
    "step_unnumbered": "a row without a step number has no place in its rollout",
}
"""Codes that readers and the order of steps give, and why records under them are never published."""

_CODE: Final = re.compile(r"[a-z][a-z0-9_]{0,99}")
_JOIN: Final = "+"


def checked_reason(code: str) -> str:
    """Give a user's reason code back. Raises ValueError for another form, or a code that only Rollmill gives."""
    if not _CODE.fullmatch(code):
        raise ValueError(f"the reason {code!r} is no code: small letters, digits and '_', a letter first")
    if code in NOT_KEEPABLE:
        raise ValueError(f"the reason {code!r} has a meaning of its own; take another word")
    return code


def checked_keep(codes: Iterable[str], own: Collection[str]) -> None:
    """Check codes to keep; `own` are those of the user's expectations. Raises ValueError naming the possible ones."""
    possible = ", ".join(sorted({*KEEPABLE, *own}))
    for code in codes:
        if code in NOT_KEEPABLE:
            raise ValueError(f"{code!r} can't be kept: {NOT_KEEPABLE[code]}. Possible codes: {possible}")
        if code not in KEEPABLE and code not in own:
            raise ValueError(f"there is no reason code {code!r} to keep. Possible codes: {possible}")


def joined(reasons: Iterable[str]) -> str:
    """Name a combination of reasons, the first one first."""
    return _JOIN.join(reasons)


def parted(combination: str) -> list[str]:
    """Undo `joined`."""
    return combination.split(_JOIN)


def is_kept(reasons: Iterable[str], keep: Collection[str]) -> bool:
    """Whether a record with these reasons is published all the same: if each of them is kept."""
    return all(reason in keep for reason in reasons)
