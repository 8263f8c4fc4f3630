"""The suite of the unified schema, judged on the facts of all published rows: what every layout owes.

All of it is critical: a failure is a bug in a layout, and nothing is published. Columns are those of
`rollmill.facts.FACTS_SCHEMA`, and those that `rollmill.expectations.facts` derives of whole rollouts.
"""

from __future__ import annotations

from typing import Any, Final

from rollmill.expectations.suites.model import Check, Suite

REWARD_KINDS: Final = (
    "env",
    "outcome",
    "process_label",
    "action_likelihood",
    "reward_model",
    "critic_score",
    "unknown",
    "none",
)
PRODUCER_ROLES: Final = ("actor", "critic", "reward_model", "thought_labeler", "human", "unknown")
FINISH_REASONS: Final = ("stop", "length", "tool_calls", "content_filter", "error", "aborted")
CONTEXT_MODES: Final = ("full", "delta", "continuation")


def _one_of(column: str, values: tuple[str, ...], reason: str) -> Check:
    kwargs: dict[str, Any] = {"column": column, "value_set": list(values)}
    return Check("expect_column_values_to_be_in_set", kwargs, reason=reason)


def _at_least(column: str, least: int, reason: str) -> Check:
    return Check("expect_column_values_to_be_between", {"column": column, "min_value": least}, reason=reason)


def _is(column: str, *, expected: bool, reason: str) -> Check:
    return Check("expect_column_values_to_be_in_set", {"column": column, "value_set": [expected]}, reason=reason)


TWICE: Final = {"row_id_twice": "row_id", "rollout_parted": "rollout_id"}
"""Checks on keys cut from ids: a finding counts only if the full ids are equal too."""

UNIFIED: Final = Suite(
    "unified",
    (
        _is("row_key_twice", expected=False, reason="row_id_twice"),
        _is("rollout_key_twice", expected=False, reason="rollout_parted"),
        _one_of("reward_kind", REWARD_KINDS, "reward_kind_unknown"),
        _one_of("rollout_reward_kind", REWARD_KINDS, "reward_kind_unknown"),
        _one_of("producer_role", PRODUCER_ROLES, "producer_role_unknown"),
        _one_of("finish_reason", FINISH_REASONS, "finish_reason_unknown"),
        _one_of("context_mode", CONTEXT_MODES, "context_mode_unknown"),
        _at_least("step_idx", 0, "step_negative"),
        _at_least("candidate_idx", 0, "candidate_negative"),
        _at_least("num_steps", 1, "num_steps_wrong"),
        _is("num_steps_right", expected=True, reason="num_steps_wrong"),
        _is("is_last_right", expected=True, reason="is_last_wrong"),
        _is("step_gap", expected=False, reason="step_missing"),
        _is("candidate_twice", expected=False, reason="candidate_twice"),
        _is("selected_twice", expected=False, reason="selected_twice"),
        _is("prompt_moved", expected=False, reason="prompt_moved"),
        _is("starts_within", expected=False, reason="context_without_start"),
        _is("all_finite", expected=True, reason="number_not_finite"),
    ),
)
