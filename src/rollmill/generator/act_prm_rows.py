"""The rows of an act_prm source, rollout by rollout: states that chain, rewards that are likelihoods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from rollmill.generator import insurance
from rollmill.generator.act_prm import ActPrmPlan
from rollmill.generator.faults import FORMS
from rollmill.generator.hub import with_features
from rollmill.generator.insurance import Message, Turn

ACT_PRM_BATCH: Final = 40
_ENV_SPLIT: Final = "train_all"
_HIDDEN: Final = "..."
_FIRST_SHOWN: Final = 2
_NOT_COMPUTED: Final = -2.0
_NOTHING: Final[Message] = {"role": "assistant", "content": ""}

_MESSAGE: Final = pa.struct([("role", pa.string()), ("content", pa.string())])
_PROPERTY: Final = pa.struct([("type", pa.string()), ("description", pa.string())])
_PARAMETERS: Final = pa.struct(
    [
        ("type", pa.string()),
        ("properties", pa.struct([(name, _PROPERTY) for name in insurance.property_names()])),
        ("required", pa.list_(pa.string())),
    ]
)
_FUNCTION: Final = pa.struct([("name", pa.string()), ("description", pa.string()), ("parameters", _PARAMETERS)])
ACT_PRM_SCHEMA: Final = with_features(
    pa.schema(
        [
            ("state", pa.list_(_MESSAGE)),
            ("action", _MESSAGE),
            ("next_obs", pa.list_(_MESSAGE)),
            ("state_len", pa.int64()),
            ("temperature", pa.float64()),
            ("reward", pa.float64()),
            ("done", pa.bool_()),
            ("truncated", pa.bool_()),
            ("timestep", pa.int64()),
            ("try_step", pa.int64()),
            ("batch_id", pa.int64()),
            ("unique_data_sample_id", pa.int64()),
            ("generation_id", pa.int64()),
            ("split", pa.string()),
            ("return_", pa.float64()),
            ("advantage", pa.float64()),
            ("return_is_computed", pa.bool_()),
            ("advantage_is_computed", pa.bool_()),
            ("constant_reward_group", pa.bool_()),
            ("tools", pa.list_(pa.struct([("type", pa.string()), ("function", _FUNCTION)]))),
            ("action_prob", pa.float64()),
        ]
    )
)


def plan_rows(plan: ActPrmPlan) -> Iterator[dict[str, Any]]:
    """Give all rows in order, as Python objects, without `tools`, which is the same in all."""
    drawn = {rollout: (reason, form) for reason, rollout, form in plan.drawn}
    for rollout in range(len(plan.lengths)):
        rows = list(_rollout(plan, rollout))
        if rollout in drawn:
            _spoil(rows, plan, rollout, *drawn[rollout])
        yield from rows


def tools_column(rows: int) -> pa.Array:
    """Give the same tools for each row, every tool padded with the properties of all others."""
    once = pa.array([insurance.tool_specs()], ACT_PRM_SCHEMA.field("tools").type)
    return once.take(pa.array(np.zeros(rows, dtype=np.int64)))


def _rollout(plan: ActPrmPlan, rollout: int) -> Iterator[dict[str, Any]]:
    random = np.random.default_rng([plan.seed, 0xAC7, rollout])
    turns = _turns(plan, random, rollout)
    history = insurance.opening(plan.seed, plan.questions[rollout])
    for step, turn in enumerate(turns):
        last = step == len(turns) - 1
        state = _hide(history) if plan.hide_observations else list(history)
        actions = [_message(f"{thought}\n\n{turn.action}") for thought in turn.thoughts]
        rewards = np.exp(-random.gamma(1.2, 0.4, plan.generations)).tolist()
        shared = {
            "state": state,
            "next_obs": [_NOTHING, _NOTHING] if last else [turn.observation, _message(turns[step + 1].action)],
            "state_len": _tokens(state),
            "done": last,
            "truncated": last and plan.truncated[rollout],
            "timestep": step,
            "unique_data_sample_id": rollout,
            "constant_reward_group": plan.generations == 1,
            **_CONSTANTS,
        }
        for candidate, (action, reward) in enumerate(zip(actions, rewards, strict=True)):
            scores = {"reward": reward, "return_": reward, "action_prob": reward}
            yield {**shared, "action": action, "generation_id": candidate, **scores}
        history = [*history, actions[int(np.argmax(rewards))], turn.observation]


_CONSTANTS: Final[dict[str, Any]] = {
    "temperature": 1.0,
    "try_step": 0,
    "batch_id": ACT_PRM_BATCH,
    "split": _ENV_SPLIT,
    "advantage": _NOT_COMPUTED,
    "return_is_computed": True,
    "advantage_is_computed": False,
}


def _turns(plan: ActPrmPlan, random: np.random.Generator, rollout: int) -> list[Turn]:
    """Give a rollout's turns: calls, and an answer at the end if it was not truncated."""
    answered = not plan.truncated[rollout]
    question = plan.questions[rollout]
    calls = plan.lengths[rollout] - answered
    turns = [insurance.turn(random, question, plan.generations) for _ in range(calls)]
    return [*turns, insurance.answer(random, plan.generations)] if answered else turns


def _hide(history: list[Message]) -> list[Message]:
    """Put dots in place of observations, but for the first two messages and the newest."""
    shown = len(history) - 1
    return [
        {"role": message["role"], "content": _HIDDEN}
        if message["role"] != "assistant" and _FIRST_SHOWN <= at < shown
        else message
        for at, message in enumerate(history)
    ]


def _message(content: str) -> Message:
    return {"role": "assistant", "content": content}


def _tokens(state: list[Message]) -> int:
    """Count about as a tokenizer would: four characters a token, and the frame of each message."""
    return sum(len(message["content"]) // 4 + 5 for message in state) + 3


def _spoil(rows: list[dict[str, Any]], plan: ActPrmPlan, rollout: int, reason: str, form: int) -> None:
    """Put a fault into a rollout's rows."""
    step = plan.fault_step(reason, rollout)
    at = step * plan.generations
    if reason == "steps_after_end":
        for row in rows[at : at + plan.generations]:
            row["done"] = True
    elif reason in {"step_gap", "duplicate_step"}:
        for row in rows[at:]:
            row["timestep"] += 1 if reason == "step_gap" else -1
    else:
        rows[at]["reward"] = FORMS[reason][form % len(FORMS[reason])]
