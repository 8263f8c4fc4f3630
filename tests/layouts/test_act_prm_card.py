from __future__ import annotations

import pytest

from rollmill.layouts.act_prm_card import card_options, countable

BANDIT = {"generator_config": "aprm_qwen3_ap"}


@pytest.mark.parametrize(
    ("facts", "options"),
    [
        ({"run_name": "r", "env_config": "e", "model_name": "m"}, {"run_id": "r", "env_name": "e", "model_name": "m"}),
        ({"run_name": "", "seed": "1"}, {}),
        ({"batch_idx": "40"}, {"policy_step": "40", "policy_step_unit": "batch"}),
        ({"batch_idx": "b40"}, {}),
        (BANDIT | {"group_size": "4"}, {"generations": "candidates"}),
        (BANDIT | {"group_size": "1"}, {}),
        (BANDIT | {"group_size": "٤"}, {}),
        ({"generator_config": "nobandit_aprm", "group_size": "4"}, {}),
        ({"group_size": "4"}, {}),
    ],
)
def test_options_are_taken_from_facts(facts: dict[str, str], options: dict[str, str]) -> None:
    assert card_options(facts) == options


def test_what_can_be_counted_and_how() -> None:
    facts = {
        "num_episodes": "10183",
        "num_trajectories": "10183",
        "group_size": "1",
        "batch_idx": "040",
        "split": "eval",
    }
    facts |= {"batch_size": "16", "seed": "1"}
    counted = {f.field: (f.declared, f.counted, f.column) for f in countable(facts | BANDIT)}
    assert counted == {
        "num_episodes": (10183, "records", None),
        "num_trajectories": (10183, "records", None),
        "group_size": (1, "number of values", "generation_id"),
        "batch_idx": (40, "values", "batch_id"),
        "split": ("eval", "values", "split"),
    }
    assert countable(facts)[1].counted == "rollouts"
    assert countable({"num_episodes": "9" * 19, "group_size": "-1", "split": ""}) == ()
