"""Writes an act_prm source: the steps as parquet, and the card that Act-PRM puts in place of the Hub's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from rollmill.generator.act_prm import ACT_PRM_SPLIT, ActPrmPlan, plan_act_prm
from rollmill.generator.act_prm_rows import ACT_PRM_BATCH, ACT_PRM_SCHEMA, plan_rows, tools_column
from rollmill.generator.hub import shard_path

_GROUP_ROWS: Final = 1000
_FLAT_SCHEMA: Final = ACT_PRM_SCHEMA.remove(ACT_PRM_SCHEMA.get_field_index("tools"))
_RUN: Final = (
    "act_prm-enco=act_prm/insurance_gpt5m-geco=aprm_qwen3_ap-trco=aprm_for_sft-baenco=insurance_default"
    "-se=1-re=insurance_aprm_1_mc"
)


def write_act_prm(
    folder: Path,
    *,
    scale: float = 1.0,
    generations: int = 1,
    hide_observations: bool = True,
    seed: int = 0,
    faults: Mapping[str, int] | None = None,
    files: int = 1,
) -> Path:
    """Write an act_prm source with its card: `data/train-<i>-of-<files>.parquet` and README.md.

    More `files` cut the rows in equal parts as a push to the Hub does, also within a rollout. `plan_act_prm` with the
    same options says what will be written, and which rows the faults spoil. Gives the folder.

    Raises:
        ValueError: less than one file or generation, faults of another kind, or more than there are rollouts.
    """
    if files < 1:
        raise ValueError(f"{files} files: at least one is needed")
    plan = plan_act_prm(
        scale=scale, generations=generations, hide_observations=hide_observations, seed=seed, faults=faults
    )
    (folder / "data").mkdir(parents=True, exist_ok=True)
    rows = plan_rows(plan)
    for index in range(files):
        share = plan.rows // files + (index < plan.rows % files)
        _write_file(folder / shard_path(ACT_PRM_SPLIT, index, files), islice(rows, share))
    (folder / "README.md").write_text(_card(plan), encoding="utf-8")
    return folder


def _write_file(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    with pq.ParquetWriter(path, ACT_PRM_SCHEMA, compression="snappy") as writer:
        while group := list(islice(rows, _GROUP_ROWS)):
            table = pa.Table.from_pylist(group, schema=_FLAT_SCHEMA)
            at = ACT_PRM_SCHEMA.get_field_index("tools")
            writer.write_table(table.add_column(at, ACT_PRM_SCHEMA.field(at), tools_column(len(group))))


def _card(plan: ActPrmPlan) -> str:
    facts = {
        "run_name": _RUN,
        "run_cmd": "python main.py --env_config act_prm/insurance_gpt5m --generator_config aprm_qwen3_ap --seed 1",
        "env_config": "act_prm/insurance_gpt5m",
        "generator_config": "aprm_qwen3_ap",
        "trainer_config": "aprm_for_sft",
        "model_name": "Qwen/Qwen3-4B-Instruct-2507",
        "seed": 1,
        "replicate": "insurance_aprm_1_mc",
        "batch_idx": ACT_PRM_BATCH,
        "split": "train_all",
        "trajectory_key": "think_act_policy",
        "num_trajectories": plan.rows,
        "num_episodes": plan.rows,
        "group_size": plan.generations,
        "batch_size": 16,
    }
    lines = "\n".join(f"- **{key}**: `{value}`" for key, value in facts.items())
    return f"""---
license: mit
tags:
- act-prm
- rollouts
---

# Act-PRM Rollout Dataset

## Run Metadata

{lines}
"""
