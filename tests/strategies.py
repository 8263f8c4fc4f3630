"""Random source tables, with the values that get lost elsewhere."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pyarrow as pa

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["", " ", "\ufeff", "null", "{}", '"quoted"', "a\r\nb", "<think>x", "<|im_start|>user\n", "2021-03-04", "\x00"]
)
_FLOATS = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([-0.0, 5e-324, 1e308])
_NESTED = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.struct([("c", pa.string()), ("d", pa.float32())])))])

CELLS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.string(): TEXT,
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.int8(): st.integers(-128, 127),
    pa.float64(): _FLOATS,
    pa.float32(): st.floats(width=32),
    pa.bool_(): st.booleans(),
    pa.binary(): st.binary(max_size=6),
    pa.date32(): st.dates(),
    pa.timestamp("us", "UTC"): st.integers(-(2**50), 2**50),
    pa.timestamp("ns"): st.integers(-(2**62), 2**62),
    pa.duration("ms"): st.integers(-(2**40), 2**40),
    pa.decimal128(12, 3): st.decimals(-999_999, 999_999, places=3, allow_nan=False),
    pa.list_(pa.string()): st.lists(st.none() | TEXT, max_size=3),
    pa.list_(pa.list_(pa.int32())): st.lists(
        st.none() | st.lists(st.none() | st.integers(-9, 9), max_size=2), max_size=3
    ),
    _NESTED: st.fixed_dictionaries(
        {
            "a": st.none() | st.integers(-5, 5),
            "b": st.none()
            | st.lists(
                st.none() | st.fixed_dictionaries({"c": st.none() | TEXT, "d": st.none() | st.floats(width=32)}),
                max_size=2,
            ),
        }
    ),
}
REWARDS = (pa.float64(), pa.float32(), pa.int64(), pa.uint64(), pa.bool_(), pa.decimal128(12, 3))


def column(kind: pa.DataType, rows: int) -> st.SearchStrategy[pa.Array]:
    """A column of a type, nulls among its values."""
    return st.lists(st.none() | CELLS[kind], min_size=rows, max_size=rows).map(lambda values: pa.array(values, kind))


@st.composite
def prompt_response_batches(draw: st.DrawFn, *, reward: bool = True) -> pa.RecordBatch:
    """Rows of the layout prompt_response, columns in any order, with extra columns of any type."""
    rows = draw(st.integers(1, 5))
    columns = {name: draw(column(pa.string(), rows)) for name in ("prompt", "response")}
    if reward and draw(st.booleans()):
        columns["reward"] = draw(column(draw(st.sampled_from(REWARDS)), rows))
    for i, kind in enumerate(draw(st.lists(st.sampled_from(list(CELLS)), max_size=4))):
        columns[draw(st.sampled_from([f"extra{i}", f'odd "{i}"', f"$float{i}", f"é {i}"]))] = draw(column(kind, rows))
    names = draw(st.permutations(list(columns)))
    return pa.RecordBatch.from_arrays([columns[name] for name in names], names)


ROLES = ("system", "user", "assistant", "tool", "")
_TOOL = pa.struct(
    [
        ("type", pa.string()),
        ("function", pa.struct([("name", pa.string()), ("x", pa.list_(pa.float64())), ("é", pa.int64())])),
    ]
)
_CALL = pa.struct([("id", pa.string()), ("function", pa.struct([("name", pa.string()), ("arguments", pa.string())]))])
_MEMBERS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "name": (pa.string(), TEXT),
    "tool_call_id": (pa.string(), TEXT),
    "reasoning_content": (pa.string(), TEXT),
    "type": (pa.string(), TEXT),
    "weight": (pa.float64(), _FLOATS),
    "call_id": (pa.int64(), st.integers(0, 3)),
    "tool_calls": (
        pa.list_(_CALL),
        st.lists(
            st.none()
            | st.fixed_dictionaries(
                {
                    "id": st.none() | TEXT,
                    "function": st.none() | st.fixed_dictionaries({"name": st.none() | TEXT, "arguments": TEXT}),
                }
            ),
            max_size=2,
        ),
    ),
}
_ACT_PRM_COLUMNS: dict[str, tuple[tuple[pa.DataType, ...], st.SearchStrategy[Any]]] = {
    "state_len": ((pa.int64(), pa.uint64()), st.integers(0, 2**63 - 1)),
    "temperature": ((pa.float64(), pa.float32()), st.floats(width=32)),
    "reward": ((pa.float64(), pa.float32()), st.floats(width=32) | st.just(0.5)),
    "action_prob": ((pa.float64(), pa.float32()), st.just(0.5)),
    "truncated": ((pa.bool_(),), st.booleans()),
    "try_step": ((pa.int64(),), st.just(0)),
    "batch_id": ((pa.int64(), pa.uint64(), pa.float64()), st.sampled_from([0, 40, 2**60])),
    "split": ((pa.string(),), st.sampled_from(["train_all", "eval"])),
    "return_": ((pa.float64(), pa.int64()), st.integers(-(2**63), 2**63 - 1)),
    "advantage": ((pa.float64(), pa.float32()), st.just(-2.0) | st.floats(width=32)),
    "advantage_is_computed": ((pa.bool_(),), st.booleans()),
    "constant_reward_group": ((pa.bool_(),), st.booleans()),
    "tools": (
        (pa.list_(_TOOL),),
        st.lists(
            st.none()
            | st.fixed_dictionaries(
                {
                    "type": st.none() | TEXT,
                    "function": st.none()
                    | st.fixed_dictionaries(
                        {
                            "name": TEXT,
                            "x": st.none() | st.lists(st.none() | _FLOATS, max_size=2),
                            "é": st.none() | st.integers(-(2**63), 2**63 - 1),
                        }
                    ),
                }
            ),
            max_size=2,
        ),
    ),
}


def messages(members: list[str], *, role: st.SearchStrategy[Any] | None = None) -> st.SearchStrategy[dict[str, Any]]:
    """A message with some of the members sources have."""
    more = {name: st.none() | _MEMBERS[name][1] for name in members}
    roles = st.sampled_from(ROLES) if role is None else role
    return st.fixed_dictionaries({"role": roles, "content": st.none() | TEXT, **more})


def message_type(members: list[str]) -> pa.DataType:
    """Its Arrow type."""
    return pa.struct([("role", pa.string()), ("content", pa.string()), *((n, _MEMBERS[n][0]) for n in members)])


@st.composite
def act_prm_batches(draw: st.DrawFn, *, odd: bool = True) -> pa.RecordBatch:
    """Steps of rollouts in any order whose states chain, are hidden, or have nothing to do with each other.

    Without `odd`, no message, role, state or action is null.
    """
    members = draw(st.lists(st.sampled_from(list(_MEMBERS)), unique=True, max_size=3))
    message: st.SearchStrategy[dict[str, Any] | None] = messages(members)
    if odd:
        message = st.none() | messages(members, role=st.none() | st.sampled_from(ROLES))
    rows = []
    for rollout in range(draw(st.integers(1, 3))):
        history = draw(st.lists(message, max_size=2))
        for step in range(draw(st.integers(1, 4))):
            state = draw(st.just(history) | st.just([{**(m or {}), "content": "..."} for m in history]))
            action = draw(message if odd else messages(members, role=st.just("assistant")))
            observations = draw(st.lists(message, max_size=2))
            rows.append((rollout, step, draw(st.none() | st.just(state)) if odd else state, action, observations))
            history = [*history, *([] if action is None else [action]), *observations]
    rows = draw(st.permutations(rows))
    return draw(_act_prm_batch(rows, message_type(members), odd=odd))


@st.composite
def _act_prm_batch(draw: st.DrawFn, rows: list[Any], message: pa.DataType, *, odd: bool) -> pa.RecordBatch:
    columns = {
        "state": pa.array([row[2] for row in rows], pa.list_(message)),
        "action": pa.array([row[3] for row in rows], message),
        "timestep": pa.array([row[1] for row in rows], draw(st.sampled_from([pa.int64(), pa.int32()]))),
        "unique_data_sample_id": pa.array([str(row[0]) for row in rows]),
        "done": draw(column(pa.bool_(), len(rows))),
    }
    if draw(st.booleans()):
        columns["unique_data_sample_id"] = columns["unique_data_sample_id"].cast(pa.int64())
    if draw(st.booleans()):
        columns["generation_id"] = pa.array([draw(st.none() | st.just(7)) for _ in rows], pa.int64())
    if draw(st.booleans()):
        columns["next_obs"] = pa.array([draw(st.none() | st.just(row[4])) for row in rows], pa.list_(message))
    for name in draw(st.lists(st.sampled_from(list(_ACT_PRM_COLUMNS)), unique=True)):
        kinds, cells = _ACT_PRM_COLUMNS[name]
        values = draw(st.lists(st.none() | cells, min_size=len(rows), max_size=len(rows)))
        kind = draw(st.sampled_from(kinds))
        if pa.types.is_floating(kind):
            values = [None if value is None else float(value) for value in values]
        columns[name] = pa.array(values, kind)
    for i, kind in enumerate(draw(st.lists(st.sampled_from(list(CELLS)), max_size=2))):
        columns[f"extra {i}"] = draw(column(kind, len(rows)))
    names = draw(st.permutations(list(columns)))
    return pa.RecordBatch.from_arrays([columns[name] for name in names], names)
