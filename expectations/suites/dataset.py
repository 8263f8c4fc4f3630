"""The suites of a whole dataset: what is odd about its splits, its checkpoints, and the numbers of its splits.

None of it is wrong by itself, so nothing is critical: a warning is worth a look before training, an info is a fact that
explains others. A measure that has nothing to say (too few rows, nothing recorded) is null, and null passes. How each
is computed: `rollmill.expectations.measures` and `checkpoints`; the table for readers: docs/dataset-checks.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from rollmill.expectations.suites.model import Check, Suite

FEWEST_ROWS: Final = 50
"""A share of fewer rows says little: at 50, one row is 2 %."""
FEWEST_GROUPS: Final = 20
"""The same for groups."""
FEWEST_PAIRS: Final = 200
"""Below this many pairs, a correlation of 0.14 is within chance (2 / sqrt(n))."""
FEWEST_CHANGES: Final = 8
"""What change is usual takes some changes to tell."""

NEARLY: Final = 0.98
"""From this share on, a rule is taken to be meant, and the rest to be exceptions."""
LEAST_USED: Final = 0.05
"""Rewards are taken for right or wrong only if both occur this often: a reward that is nearly always 0 is sparse."""
NEAR_LONGEST: Final = 0.99
"""Bytes of texts that were cut at a number of characters differ a little; a token limit is compared exactly."""
LONG_BYTES: Final = 1000
LONG_TOKENS: Final = 100
"""Shorter answers may well be of equal length."""

MOST_TRUNCATED: Final = 0.2
"""Some truncation is usual while answers grow; a fifth teaches to stop early, or not at all."""
MOST_CAPPED: Final = 0.05
"""Lengths that end by themselves thin out towards the longest."""
MOST_LONGEST: Final = 50.0
"""Times the mean: a text that runs away, or two records in one."""
MOST_FLAT_GROUPS: Final = 0.8
"""A group of one reward has no advantage to learn from. Late in training many are; four of five is waste."""
MOST_DUPLICATES: Final = 0.05
"""Short answers repeat by chance; more than this counts some samples twice for no reason."""
MOST_SHARED: Final = 0.01
"""Between sources or checkpoints even this much is no chance, unless answers are very short."""
MOST_LEAKED: Final = 0.001
"""Prompts of a held-out split that training has seen. Above 0 for a prompt that is empty or a greeting."""
MOST_BIAS: Final = 0.25
"""Of the spread of the targets: a critic that is this far off on average moves every advantage."""
LEAST_CORRELATION: Final = 0.1
"""A critic below it predicts nothing, or its columns are swapped."""
MOST_CHANGE: Final = 8.0
"""Times the usual change between checkpoints (by their median; at least what chance and small effects make up)."""
LOST_SHARE: Final = 0.02
"""Few numbers missing in a sequence, at most this share of it or one, are lost splits; more are how it was numbered."""

Kind = Literal["share", "number", "times", "rows"]


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure, the range it should be in, and how a number outside of it is told.

    `says` goes behind the number: "12.0% of the rollouts were cut short".
    """

    code: str
    severity: Literal["warning", "info"]
    says: str
    kind: Kind = "share"
    at_least: float | None = None
    at_most: float | None = None

    @property
    def check(self) -> Check:
        """The expectation: the column named after the code lies in the range."""
        limits: dict[str, Any] = {"min_value": self.at_least, "max_value": self.at_most}
        given = {name: limit for name, limit in limits.items() if limit is not None}
        kwargs = {"column": self.code, **given}
        return Check("expect_column_values_to_be_between", kwargs, severity=self.severity, reason=self.code)


def _warn(code: str, says: str, at_most: float = 0.0, kind: Kind = "share") -> Measure:
    return Measure(code, "warning", says, kind, at_most=at_most)


def _note(code: str, says: str, at_most: float = 0.0, kind: Kind = "share") -> Measure:
    return Measure(code, "info", says, kind, at_most=at_most)


SPLITS: Final = (
    _warn("same_reward_rows", "rows have one and the same reward", kind="rows"),
    _warn("reward_off_support", "of the rewards are none of 0, 1 and -1, which all others are"),
    _warn("target_off_support", "of the value targets are none of 0, 1 and -1, which all others are"),
    _warn("likelihood_off_range", "of the likelihoods given as reward are not between 0 and 1"),
    _note("reward_unrecorded", "of the rows have no reward, while others of the split do"),
    _warn("same_advantage_rows", "rows have one and the same advantage", kind="rows"),
    _note("advantage_not_computed", "of the advantages are the sentinel for `not computed`"),
    _warn("flat_groups", "of the groups have one reward for all samples", MOST_FLAT_GROUPS),
    _warn("value_bias", "of the spread of the targets is how far value_pred is off on average", MOST_BIAS),
    Measure(
        "value_correlation",
        "warning",
        "is the correlation of value_pred and value_target",
        kind="number",
        at_least=LEAST_CORRELATION,
    ),
    _note("score_unexplained", "of the pairs of value_pred and value_target have more than one score"),
    _warn("truncated_share", "of the rollouts were cut short", MOST_TRUNCATED),
    _warn("capped_share", "of the completions are as long as the longest, as if cut", MOST_CAPPED),
    _note("longest_completion", "times the mean is the longest completion", MOST_LONGEST, kind="times"),
    _warn("duplicate_share", "of the rollouts repeat another of their split", MOST_DUPLICATES),
    _warn("duplicate_across_splits", "of the rollouts are in another split of the source too", MOST_SHARED),
    _warn("duplicate_across_sources", "of the rollouts are in another source too", MOST_SHARED),
    _warn("prompts_seen_in_training", "of the prompts held out are in a train split too", MOST_LEAKED),
    _note("hidden_observations", 'of the context messages read "..." in place of an observation'),
)
"""Measured per source, config and split."""

CHECKPOINTS: Final = (
    _warn("reward_jump", "times the usual change is that of the mean reward", MOST_CHANGE, kind="times"),
    _warn("length_jump", "times the usual change is that of the mean completion", MOST_CHANGE, kind="times"),
    _warn("rows_jump", "times the usual change is that of the number of rows", MOST_CHANGE, kind="times"),
)
"""Measured per checkpoint (policy_step) against the one before it, within source and config."""

SEQUENCES: Final = (
    _warn("splits_lost", "numbers are missing in the sequence of splits", kind="rows"),
    _note("splits_skipped", "numbers are left out in the sequence of splits", kind="rows"),
)
"""Measured per sequence of numbered splits of a source and config."""

MEASURES: Final = {measure.code: measure for measure in (*SPLITS, *CHECKPOINTS, *SEQUENCES)}


def suite_of(name: str, measures: tuple[Measure, ...]) -> Suite:
    """Give the suite of measures of one frame."""
    return Suite(name, tuple(measure.check for measure in measures))


SUITES: Final = (
    suite_of("dataset_splits", SPLITS),
    suite_of("dataset_checkpoints", CHECKPOINTS),
    suite_of("dataset_sequences", SEQUENCES),
)
