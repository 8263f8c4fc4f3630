"""When a difference between what is declared and what is there refuses a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rollmill.declared.claims import CLAIMED
from rollmill.declared.comparison import Comparison
from rollmill.errors import DriftError

_MOST: Final = 20


def refuse_drift(compared: Iterable[Comparison], *, strict_card: bool) -> None:
    """Raise DriftError for a claim of the pipeline file that is false, and with `strict_card` for any other difference.

    The message names each field, where it is declared, and both values.
    """
    drift = [comparison for comparison in compared if comparison.drifts]
    if false := [comparison for comparison in drift if comparison.file == CLAIMED]:
        raise _error("The files do not hold what the pipeline file claims", false, "the claims in the pipeline file")
    if strict_card and drift:
        said = "What is declared differs from what the files hold, and --strict-card allows no difference"
        raise _error(said, drift, "the card, or run without --strict-card (`strict_card: false`)")


def _error(said: str, drift: Sequence[Comparison], mend: str) -> DriftError:
    told = " ".join(comparison.sentence() for comparison in drift[:_MOST])
    more = f" And {len(drift) - _MOST} more." if len(drift) > _MOST else ""
    return DriftError(f"{said}. {told}{more} Nothing is published. Mend the source, or {mend}.", file=drift[0].file)
