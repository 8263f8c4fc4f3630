from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from rollmill.errors import LayoutError
from rollmill.formats.logical import logical_schema, to_logical
from rollmill.generator.act_prm_files import write_act_prm
from rollmill.identity import logical_type
from rollmill.layouts import Origin
from rollmill.layouts.act_prm import ActPrm
from rollmill.layouts.rollouts import expand, finish, in_order
from rollmill.schema import SCHEMA
from tests.comparing import rows_of
from tests.strategies import act_prm_batches

LAYOUT = ActPrm()
ORIGIN = Origin("lab", "default", "train", "ab" * 32)
MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
SLOW = settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))


def normalize(batch: pa.RecordBatch, origin: Origin = ORIGIN, start: int = 0, **options: Any) -> pa.Table:
    return LAYOUT.normalize(batch, pa.array(range(start, start + len(batch)), pa.int64()), origin, options)


def message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def steps(rollout: int, actions: list[str], *, generation: int | None = 0) -> list[dict[str, Any]]:
    """A rollout whose states chain, as Act-PRM writes it."""
    history, rows = [message("system", "rules"), message("user", f"question {rollout}")], []
    for step, action in enumerate(actions):
        said, seen = message("assistant", action), message("tool", f"seen {step}")
        following = message("assistant", actions[step + 1] if step + 1 < len(actions) else "")
        rows.append(
            {
                "state": history,
                "action": said,
                "next_obs": [seen, following],
                "reward": 0.5,
                "action_prob": 0.5,
                "done": step == len(actions) - 1,
                "truncated": False,
                "timestep": step,
                "unique_data_sample_id": rollout,
                "generation_id": generation,
            }
        )
        history = [*history, said, seen]
    return rows


def batch(rows: list[dict[str, Any]], **more: pa.Array) -> pa.RecordBatch:
    kinds = {"state": pa.list_(MESSAGE), "action": MESSAGE, "next_obs": pa.list_(MESSAGE)}
    names = list(rows[0])
    columns = {name: pa.array([row[name] for row in rows], kinds.get(name)) for name in names} | more
    return pa.RecordBatch.from_pydict(columns)


def types_of(source: pa.RecordBatch) -> dict[str, str]:
    return {field.name: logical_type(field) for field in source.schema}


@SLOW
@given(act_prm_batches(), st.booleans())
def test_restoring_is_the_inverse_of_normalizing(source: pa.RecordBatch, candidates: bool) -> None:
    unified = normalize(source, generations="candidates" if candidates else "rollouts")
    assert unified.schema.equals(SCHEMA)
    unified.validate(full=True)
    whole = in_order(unified)
    finished = finish(whole)
    assert finished.schema.equals(SCHEMA)
    finished.validate(full=True)
    expanded = expand(finished)
    assert expanded.column("context").to_pylist() == whole.column("context").to_pylist()
    restored = LAYOUT.restore(expanded.take(pa.array(order_of(expanded))), source.schema)
    restored.validate(full=True)
    assert restored.schema == source.schema
    assert rows_of(restored) == rows_of(source)


def order_of(table: pa.Table) -> list[int]:
    rows = table.column("source_row").to_pylist()
    return sorted(range(len(rows)), key=rows.__getitem__)


@SLOW
@given(act_prm_batches(), st.integers(0, 5))
def test_rows_do_not_depend_on_how_they_are_batched(source: pa.RecordBatch, cut: int) -> None:
    whole = normalize(source)
    parts = [normalize(source.slice(0, cut)), normalize(source.slice(cut), start=min(cut, len(source)))]
    assert pa.concat_tables(parts).to_pydict().__repr__() == whole.to_pydict().__repr__()
    ids = LAYOUT.rollout_ids(source.select([n for n in LAYOUT.key_columns if n in source.schema.names]), ORIGIN, {})
    assert ids.to_list() == whole.column("rollout_id").to_pylist()
    assert len(set(whole.column("row_id").to_pylist())) == len(source)


def test_a_step_says_what_it_is() -> None:
    card = {"run_name": "r", "env_config": "e", "model_name": "m", "batch_idx": "40", "seed": "1"}
    facts: dict[str, Any] = dict(LAYOUT.card_options(card))
    row = normalize(batch(steps(3, ["think\n\n<tool_call>{}</tool_call>", "next"])), **facts).to_pylist()[0]
    assert [(m["role"], m["content"]) for m in row["completion"]] == [
        ("assistant", "think\n\n<tool_call>{}</tool_call>")
    ]
    assert [m["content"] for m in row["context"]] == ["rules", "question 3"]
    assert row["context_format"] == row["completion_format"] == "messages@1"
    assert (row["task_id"], row["sample_idx"], row["step_idx"], row["candidate_idx"]) == ("3", 0, 0, 0)
    assert (row["reward"], row["reward_kind"], row["producer_role"]) == (0.5, "action_likelihood", "thought_labeler")
    assert (row["terminated"], row["truncated"]) == (False, False)
    assert [row[name] for name in ("run_id", "env_name", "model_name")] == ["r", "e", "m"]
    assert (row["policy_step"], row["policy_step_unit"]) == (40, "batch")
    assert row["quality_flags"] == []
    assert json.loads(row["extra_json"]) == {"action_prob": 0.5, "next_obs": [message("assistant", "next")]}


def test_what_the_agent_does_next_is_told_in_extra_json_only() -> None:
    unified = in_order(normalize(batch(steps(0, ["A0", "A1", "A2"]) + steps(1, ["B0", "B1"]))))
    for table in (unified, finish(unified)):
        for row in table.to_pylist():
            following = {"A0": "A1", "A1": "A2", "B0": "B1"}.get(row["completion"][0]["content"])
            told = repr([row["context"], row["completion"], row["next_observation"], row["tools_json"]])
            assert following is None or following not in told
    assert [m["content"] for m in unified.to_pylist()[0]["next_observation"]] == ["seen 0"]


def test_endings_and_their_source_columns() -> None:
    flags = [(a, b) for a in (True, False, None) for b in (True, False, None)]
    source = batch(
        [{**steps(i, ["a"])[0], "done": done, "truncated": truncated} for i, (done, truncated) in enumerate(flags)]
    )
    unified = normalize(source)
    found = dict(zip(flags, unified.column("terminated").to_pylist(), strict=True))
    assert found[True, True] is found[False, True] is found[False, None] is False
    assert found[True, False] is True
    assert found[True, None] is found[None, True] is found[None, False] is None
    assert unified.column("truncated").to_pylist() == [truncated for _, truncated in flags]
    assert [json.loads(x).get("done") for x in unified.column("extra_json").to_pylist()] == [
        *(None, None, True),
        *(False, None, None),
        *(None, None, None),
    ]
    assert rows_of(LAYOUT.restore(unified, source.schema)) == rows_of(source)


def test_an_advantage_that_was_not_computed_is_none() -> None:
    computed = pa.array([False, True, None])
    source = batch(steps(0, ["a", "b", "c"]), advantage=pa.array([-2.0] * 3), advantage_is_computed=computed)
    unified = normalize(source)
    assert unified.column("advantage").to_pylist() == [None, -2.0, -2.0]
    assert unified.column("quality_flags").to_pylist() == [["sentinel_nulled"], [], []]
    assert json.loads(unified.column("extra_json")[0].as_py())["advantage"] == -2.0
    assert rows_of(LAYOUT.restore(unified, source.schema)) == rows_of(source)


def test_what_is_not_finite_is_none_and_flagged() -> None:
    source = batch(
        steps(0, ["a", "b"]), return_=pa.array([float("nan"), 1.0]), advantage=pa.array([None, -float("inf")])
    )
    unified = normalize(source)
    assert unified.column("step_return").to_pylist() == [None, 1.0]
    assert unified.column("advantage").null_count == 2
    assert unified.column("quality_flags").to_pylist() == [["nan_nulled"], ["nan_nulled"]]


def test_the_kind_of_reward_is_seen_row_by_row_or_told() -> None:
    source = batch(steps(0, ["a", "b", "c"]), action_prob=pa.array([0.5, 0.25, None]))
    assert normalize(source).column("reward_kind").to_pylist() == ["action_likelihood", "unknown", "unknown"]
    assert normalize(source).column("producer_role").to_pylist() == ["thought_labeler", "thought_labeler", "unknown"]
    assert normalize(source, reward_kind="env").column("reward_kind").to_pylist() == ["env"] * 3
    assert normalize(source.drop_columns(["reward"])).column("reward_kind").to_pylist() == ["none"] * 3


def test_tools_are_canonical_json_without_padding() -> None:
    kind = pa.list_(pa.struct([("type", pa.string()), ("f", pa.struct([("b", pa.int64()), ("a", pa.string())]))]))
    tools = pa.array([[{"type": "t", "f": {"b": None, "a": "x"}}, {"type": None, "f": None}], None], kind)
    source = batch(steps(0, ["a", "b"]), tools=tools)
    unified = normalize(source)
    assert unified.column("tools_json").to_pylist() == ['[{"f":{"a":"x"},"type":"t"},{}]', None]
    assert rows_of(LAYOUT.restore(unified, source.schema)) == rows_of(source)
    text = batch(steps(0, ["a", "b", "c"]), tools=pa.array(['[{"b": null}]', "[]", "no"]))
    assert normalize(text).column("tools_json").to_pylist() == ["[{}]", "[]", None]
    assert rows_of(LAYOUT.restore(normalize(text), text.schema)) == rows_of(text)


def test_ids_are_those_of_this_version() -> None:
    rows = finish(normalize(batch(steps(0, ["a", "b"])))).to_pylist()
    assert {name: [row[name] for row in rows] for name in GOLDEN} == GOLDEN


GOLDEN = {
    "row_id": ["32e1a46d4fb2666c30d344132aa41704", "32bab7726557bc34007481fe49d4dbfd"],
    "rollout_id": ["5126151d7ac1e3a9e98f9e3692cd3736", "5126151d7ac1e3a9e98f9e3692cd3736"],
    "prompt_id": ["922f1bf3d0926ac986ef7f525415cddb", "922f1bf3d0926ac986ef7f525415cddb"],
    "context_id": ["922f1bf3d0926ac986ef7f525415cddb", "b81e0dd4dc5ecc0257554e6a8869c61e"],
    "content_id": ["6c342a47c3d25eb8653f493fc41191c8", "f92532e879d2325ca749b1e8e10f38cd"],
    "group_id": ["1951ae159377882bd2c49ff9dea1aa64", "1951ae159377882bd2c49ff9dea1aa64"],
    "source_row_hash": [
        "fda95be1dfb6cc6af680a23ab227d7344657bce81eb9216ddc39750814a9082d",
        "1136f48a98b36b2eac828a037ae2c69d0e1bb358a94651e2bc0dc8a8736dcf19",
    ],
}


@pytest.mark.parametrize("generations", [1, 2])
@pytest.mark.parametrize("hide", [True, False])
def test_a_source_as_act_prm_writes_it(tmp_path: Path, generations: int, hide: bool) -> None:
    write_act_prm(tmp_path, scale=0.005, generations=generations, hide_observations=hide)
    table = pq.read_table(tmp_path / "data").combine_chunks()
    schema = logical_schema(table.schema)
    source = to_logical(table.to_batches()[0], schema)
    assert LAYOUT.fit(types_of(source)).fits
    done = finish(in_order(normalize(source, generations="candidates" if generations > 1 else "rollouts")))
    later = done.filter(pc.greater(done.column("step_idx"), 1))
    assert set(later.column("context_mode").to_pylist()) == {"full" if hide else "delta"}
    assert set(done.column("reward_kind").to_pylist()) == {"action_likelihood"}
    restored = LAYOUT.restore(expand(done), schema)
    assert rows_of(restored.take(pa.array(order_of(done)))) == rows_of(source)


def test_the_rollout_is_the_native_key_whatever_its_number_type() -> None:
    ints = batch(steps(0, ["a", "b"]), batch_id=pa.array([40, 40]))
    floats = batch(steps(0, ["a", "b"]), batch_id=pa.array([40.0, 40.0]))
    ids = {*normalize(ints).column("rollout_id").to_pylist(), *normalize(floats).column("rollout_id").to_pylist()}
    assert len(ids) == 1
    assert normalize(ints).column("rollout_id")[0].as_py() not in {
        normalize(ints, Origin("lab", "default", "test", "ab" * 32)).column("rollout_id")[0].as_py(),
        normalize(batch(steps(0, ["a"], generation=1), batch_id=pa.array([40]))).column("rollout_id")[0].as_py(),
    }


def test_samples_of_a_task_are_a_group_under_a_policy() -> None:
    source = batch([row for g in (0, 1) for row in steps(0, ["a", "b"], generation=g)] + steps(1, ["a"]))
    groups = normalize(source).column("group_id").to_pylist()
    assert len(set(groups[:4])) == 1
    assert groups[4] != groups[0]
    assert groups[0] != normalize(source, policy_step="3").column("group_id")[0].as_py()
    steps_of = normalize(source, generations="candidates").column("group_id").to_pylist()
    assert steps_of[0] == steps_of[2] != steps_of[1] == steps_of[3]
    assert normalize(batch(steps(0, ["a"], generation=None))).column("group_id").null_count == 1


def test_the_sequence_tells_place_and_end() -> None:
    source = batch(steps(0, ["a", "b"], generation=1) + steps(0, ["c"], generation=2))
    sequence = LAYOUT.sequence(source.select(["done", "timestep", "unique_data_sample_id", "generation_id"]))
    assert sequence.schema == {"rollout": pl.String, "step": pl.Int64, "candidate": pl.Int32, "end": pl.Boolean}
    assert sequence["step"].to_list() == [0, 1, 0]
    assert sequence["end"].to_list() == [False, True, True]
    assert sequence["rollout"][0] == sequence["rollout"][1] != sequence["rollout"][2]
    candidates = LAYOUT.sequence(source, {"generations": "candidates"})
    assert candidates["rollout"].n_unique() == 1
    assert candidates["candidate"].to_list() == [1, 1, 2]


def test_it_fits_by_the_types_of_its_columns() -> None:
    source = batch(steps(0, ["a"]))
    assert LAYOUT.fit(types_of(source)).fits
    assert LAYOUT.fit(types_of(source.select(list(LAYOUT.required)))).fits
    bad = types_of(source) | {"state": "list<string>", "action": "struct<4:role:string>", "reward": "string"}
    del bad["done"]
    fit = LAYOUT.fit(bad)
    assert fit.near == 2
    assert set(fit.problems) == {
        "column state is list<string>, not a list of messages (structs of role and content)",
        "column action is not a message: no text content in struct<4:role:string>",
        "no column done",
        "column reward is string, not number",
    }


def test_a_step_without_a_number_is_refused() -> None:
    with pytest.raises(LayoutError, match="timestep"):
        normalize(batch(steps(0, ["a"]), timestep=pa.array([None], pa.int64())))
