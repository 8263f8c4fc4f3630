"""Writes a ppo_critic source: a file per split, and the card that a push of each split would have left."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from rollmill.generator.hub import SplitFacts, dataset_card, shard_path
from rollmill.generator.ppo_critic import PPO_CRITIC_SPLITS, PpoCriticPlan, PpoSplit, plan_ppo_critic
from rollmill.generator.ppo_critic_rows import PPO_CRITIC_SCHEMA, arrow_bytes, split_batches

_BODY: Final = """# Generated rollouts of a generative critic

Invented text in the shape of a critic's own rollouts during PPO: one critic prompt and its judgement per row.
"""


def write_ppo_critic(
    folder: Path,
    *,
    scale: float = 1.0,
    splits: int = PPO_CRITIC_SPLITS,
    seed: int = 0,
    faults: Mapping[str, int] | None = None,
    fault_split: str | None = None,
) -> Path:
    """Write a ppo_critic source with its card: `data/train_<N>-00000-of-00001.parquet` per split, and README.md.

    At scale 1.0 that is 27.98 GB of text, a row group of it in memory at a time. `plan_ppo_critic` with the same
    options says which rows the faults spoil. Gives the folder.

    Raises:
        ValueError: more splits than there are names for, no such split, faults of another kind or more than rows.
    """
    plan = plan_ppo_critic(scale=scale, splits=splits, seed=seed, faults=faults, fault_split=fault_split)
    (folder / "data").mkdir(parents=True, exist_ok=True)
    facts = [_write_split(folder, plan, split) for split in plan.splits]
    card = dataset_card(PPO_CRITIC_SCHEMA, facts, plan.listed, _BODY)
    (folder / "README.md").write_text(card, encoding="utf-8")
    return folder


def _write_split(folder: Path, plan: PpoCriticPlan, split: PpoSplit) -> SplitFacts:
    path = folder / shard_path(split.name, 0, 1)
    size = 0
    with pq.ParquetWriter(path, PPO_CRITIC_SCHEMA, compression="snappy") as writer:
        for batch in split_batches(plan, split):
            writer.write_table(pa.Table.from_batches([batch]))
            size += arrow_bytes(batch)
    return SplitFacts(split.name, split.rows, size, path.stat().st_size)
