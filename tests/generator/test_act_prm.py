from __future__ import annotations

import json
import math
import re
from collections import Counter
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollmill.generator import plan_act_prm, write_act_prm
from tests.generator.files import files_of, split_rows

Rows = list[dict[str, Any]]
SCALE = 0.01
MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
NUMBERS = {"state_len", "timestep", "try_step", "batch_id", "unique_data_sample_id", "generation_id"}
FLAGS = {"done", "truncated", "return_is_computed", "advantage_is_computed", "constant_reward_group"}
COLUMNS = [
    "state", "action", "next_obs", "state_len", "temperature", "reward", "done", "truncated", "timestep", "try_step",
    "batch_id", "unique_data_sample_id", "generation_id", "split", "return_", "advantage", "return_is_computed",
    "advantage_is_computed", "constant_reward_group", "tools", "action_prob",
]  # fmt: skip
FACTS = [
    "run_name", "run_cmd", "env_config", "generator_config", "trainer_config", "model_name", "seed", "replicate",
    "batch_idx", "split", "trajectory_key", "num_trajectories", "num_episodes", "group_size", "batch_size",
]  # fmt: skip


def rollouts(rows: Rows) -> list[Rows]:
    return [list(steps) for _, steps in groupby(rows, key=lambda row: row["unique_data_sample_id"])]


def written(folder: Path, **options: Any) -> Rows:
    return split_rows(write_act_prm(folder, scale=SCALE, **options), "train")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    return written(tmp_path_factory.mktemp("hidden"))


@pytest.fixture(scope="module")
def bandit(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    return written(tmp_path_factory.mktemp("bandit"), generations=4, hide_observations=False)


def test_the_full_size_is_that_of_the_seed() -> None:
    plan = plan_act_prm()
    assert (plan.rows, len(plan.lengths)) == (10_183, 910)
    assert len(set(plan.lengths)) > 20
    assert min(plan.lengths) >= 2
    assert len(set(plan.questions)) == 261, "some questions are answered several times"
    assert plan_act_prm(generations=4).rows == 4 * 10_183


def test_columns_and_types_are_those_of_the_seed(tmp_path: Path) -> None:
    folder = write_act_prm(tmp_path, scale=SCALE)
    schema = pq.read_schema(folder / "data" / "train-00000-of-00001.parquet")
    assert schema.names == COLUMNS
    nested = {"state": pa.list_(MESSAGE), "action": MESSAGE, "next_obs": pa.list_(MESSAGE), "split": pa.string()}
    for name in set(COLUMNS) - {"tools"}:
        number = pa.int64() if name in NUMBERS else pa.bool_() if name in FLAGS else pa.float64()
        assert schema.field(name).type == nested.get(name, number), name
    assert pa.types.is_list(schema.field("tools").type)


def test_rollouts_are_whole_and_end_once(rows: Rows) -> None:
    plan = plan_act_prm(scale=SCALE)
    found = rollouts(rows)
    assert tuple(map(len, found)) == plan.lengths
    for steps in found:
        assert [row["timestep"] for row in steps] == list(range(len(steps)))
        assert [row["done"] for row in steps] == [False] * (len(steps) - 1) + [True]
        assert steps[-1]["next_obs"] == [{"role": "assistant", "content": ""}] * 2


def test_a_truncated_rollout_ends_in_a_call(rows: Rows) -> None:
    plan = plan_act_prm(scale=SCALE)
    assert (sum(plan.truncated), sum(plan_act_prm().truncated)) == (1, 18)
    for steps, truncated in zip(rollouts(rows), plan.truncated, strict=True):
        assert steps[-1]["truncated"] is truncated
        assert ("Final Answer: " in steps[-1]["action"]["content"]) is not truncated


def test_states_chain(tmp_path: Path) -> None:
    for steps in rollouts(written(tmp_path, hide_observations=False)):
        assert [message["role"] for message in steps[0]["state"]] == ["system", "user"]
        for step, following in pairwise(steps):
            observation, target = step["next_obs"]
            assert following["state"] == [*step["state"], step["action"], observation]
            assert observation["role"] in {"tool", "user"}
            assert target["role"] == "assistant"
            assert following["action"]["content"].endswith(f"\n\n{target['content']}"), (
                "the next action, without thought"
            )


def test_all_but_the_newest_observation_is_hidden(rows: Rows, tmp_path: Path) -> None:
    shown = written(tmp_path, hide_observations=False)
    for hidden, full in zip(rows, shown, strict=True):
        last = len(full["state"]) - 1
        expected = [
            {**message, "content": "..."} if message["role"] != "assistant" and 2 <= at < last else message
            for at, message in enumerate(full["state"])
        ]
        assert hidden["state"] == expected
        unlike = {name for name in COLUMNS if hidden[name] != full[name]}
        assert unlike <= {"state", "state_len"}
    assert any(message["content"] == "..." for row in rows for message in row["state"])


def test_actions_are_a_thought_and_a_call(rows: Rows) -> None:
    names = {tool["function"]["name"] for tool in rows[0]["tools"]}
    for row in rows:
        thought, action = row["action"]["content"].split("\n\n")
        assert thought
        call = re.fullmatch(r"<tool_call>(.*)</tool_call>", action)
        assert call or action.startswith("Final Answer: ")
        assert not call or json.loads(call[1])["name"] in names


def test_numbers_are_those_of_a_sweep(rows: Rows) -> None:
    for row in rows:
        assert 0 < row["reward"] <= 1
        assert row["reward"] == row["action_prob"] == row["return_"]
        assert (row["advantage"], row["advantage_is_computed"], row["return_is_computed"]) == (-2.0, False, True)
        assert (row["batch_id"], row["split"], row["try_step"]) == (40, "train_all", 0)
        assert 0 < row["state_len"] < 4096
    assert len({row["reward"] for row in rows}) == len(rows)


def test_tools_are_padded_with_each_others_properties(rows: Rows) -> None:
    kinds = {len(tool["function"]["parameters"]["properties"]) for tool in rows[0]["tools"]}
    assert kinds == {11}
    for tool in rows[0]["tools"]:
        parameters = tool["function"]["parameters"]
        given = [name for name, value in parameters["properties"].items() if value is not None]
        assert sorted(given) == sorted(parameters["required"])
    assert all(row["tools"] == rows[0]["tools"] for row in rows)


def test_candidates_share_a_state_and_the_best_is_carried_on(bandit: Rows) -> None:
    carried = []
    for candidates in rollouts(bandit):
        steps = [candidates[at : at + 4] for at in range(0, len(candidates), 4)]
        for at, step in enumerate(steps):
            assert [(row["timestep"], row["generation_id"]) for row in step] == [(at, i) for i in range(4)]
            assert all(row["state"] == step[0]["state"] and row["next_obs"] == step[0]["next_obs"] for row in step)
            assert len({row["action"]["content"] for row in step}) == 4
            assert not any(row["constant_reward_group"] for row in step)
        for step, following in pairwise(steps):
            best = max(step, key=lambda row: row["reward"])
            carried.append(best["generation_id"])
            assert following[0]["state"] == [*best["state"], best["action"], best["next_obs"][0]]
    assert set(carried) == {0, 1, 2, 3}


def test_files_are_cut_as_a_push_does(rows: Rows, tmp_path: Path) -> None:
    folder = write_act_prm(tmp_path, scale=SCALE, files=4)
    paths = sorted((folder / "data").iterdir())
    assert [path.name for path in paths] == [f"train-0000{i}-of-00004.parquet" for i in range(4)]
    assert [pq.read_metadata(path).num_rows for path in paths] == [26, 26, 25, 25]
    assert split_rows(folder, "train") == rows
    ends = [pq.read_table(path).column("unique_data_sample_id").to_pylist() for path in paths]
    assert any(one[-1] == other[0] for one, other in pairwise(ends)), "a rollout lies in two files"


def test_the_card_has_the_facts_of_the_run_and_no_features(tmp_path: Path) -> None:
    folder = write_act_prm(tmp_path, scale=SCALE, generations=2)
    text = (folder / "README.md").read_text("utf-8")
    assert text.startswith("---\nlicense: mit\ntags:\n- act-prm\n- rollouts\n---\n\n# Act-PRM Rollout Dataset\n")
    facts = dict(re.findall(r"^- \*\*(\w+)\*\*: `(.*)`$", text, re.MULTILINE))
    assert list(facts) == FACTS
    assert facts["num_episodes"] == facts["num_trajectories"] == "204"
    assert (facts["group_size"], facts["batch_idx"], facts["split"]) == ("2", "40", "train_all")


def test_the_same_options_give_the_same_bytes(tmp_path: Path) -> None:
    one, two, other = (
        files_of(write_act_prm(tmp_path / name, scale=SCALE, generations=2, files=2, seed=seed))
        for name, seed in (("one", 3), ("two", 3), ("other", 4))
    )
    assert one == two
    assert [path for path in one if one[path] == other[path]] == ["README.md"]


@pytest.mark.parametrize("generations", [1, 3])
def test_faults_lie_where_the_plan_says_and_nowhere_else(generations: int, tmp_path: Path) -> None:
    reasons = ["step_gap", "duplicate_step", "steps_after_end", "reward_not_finite", "reward_missing"]
    asked = dict.fromkeys(reasons, 1)
    plan = plan_act_prm(scale=SCALE, generations=generations, faults=asked)
    assert Counter(fault.reason for fault in plan.faults) == asked
    good = written(tmp_path / "good", generations=generations)
    bad = written(tmp_path / "bad", generations=generations, faults=asked)
    touched = {row for fault in plan.faults for row in fault.rows}
    assert [row for i, row in enumerate(bad) if i not in touched] == [
        row for i, row in enumerate(good) if i not in touched
    ]
    for fault in plan.faults:
        first = next(i for i in fault.rows if repr(good[i]) != repr(bad[i]))
        assert first == fault.row
        assert len({bad[i]["unique_data_sample_id"] for i in fault.rows}) == 1
        _check_fault(fault.reason, [bad[i] for i in fault.rows], generations)


def _check_fault(reason: str, rows: Rows, generations: int) -> None:
    numbers = Counter(row["timestep"] for row in rows)
    ends = [row["timestep"] for row in rows if row["done"]]
    rewards = [row["reward"] for row in rows]
    assert (len(numbers) < max(numbers) + 1) == (reason == "step_gap")
    assert (max(numbers.values()) > generations) == (reason == "duplicate_step")
    assert (min(ends) < max(numbers)) == (reason == "steps_after_end")
    assert (None in rewards) == (reason == "reward_missing")
    assert any(r is not None and not math.isfinite(r) for r in rewards) == (reason == "reward_not_finite")


def test_the_shortest_rollouts_take_all_faults(tmp_path: Path) -> None:
    asked = {"step_gap": 1, "duplicate_step": 0, "steps_after_end": 0}
    folder = write_act_prm(tmp_path, scale=0.0, faults=asked)
    assert [row["timestep"] for row in split_rows(folder, "train")] == [0, 2]


def test_what_can_not_be_done_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="0 generations"):
        plan_act_prm(generations=0)
    with pytest.raises(ValueError, match="0 files"):
        write_act_prm(tmp_path, files=0)
    with pytest.raises(ValueError, match="no such fault here: empty_response"):
        plan_act_prm(faults={"empty_response": 1})
