"""A source in the shape of the REINFORCE seed: one prompt and one response per row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rollmill.generator.faults import Fault, draw_rows, spoil_rows
from rollmill.generator.texts import mean_length, random_texts, sentence_bank, text_bytes

PROMPT_RESPONSE_ROWS: Final = 16_710
PROMPT_RESPONSE_BYTES: Final = 370_594_598
_SPLIT: Final = "train"
_FAULTS: Final = {"empty_response": "response"}
_SAMPLES_PER_PROMPT: Final = 8
_GROUP_ROWS: Final = 1000
_PROMPT_SENTENCES: Final = 6


@dataclass(frozen=True, slots=True)
class PromptResponsePlan:
    """What `write_prompt_response` writes: rows of the split `train`, and the faults among them by row."""

    rows: int
    faults: tuple[Fault, ...]


def plan_prompt_response(
    *, scale: float = 1.0, seed: int = 0, faults: Mapping[str, int] | None = None
) -> PromptResponsePlan:
    """Plan a prompt_response source. `faults`: empty_response -> number of rows.

    Raises:
        ValueError: faults of another kind, or more than there are rows.
    """
    rows = max(round(PROMPT_RESPONSE_ROWS * scale), 1)
    return PromptResponsePlan(rows, draw_rows(faults, [(_SPLIT, rows)], seed, _FAULTS))


def prompt_response_batches(
    scale: float, *, seed: int = 0, faults: Mapping[str, int] | None = None
) -> Iterator[pa.RecordBatch]:
    """Give the rows of a prompt_response source, a row group at a time: `response` before `prompt`, as in the seed."""
    plan = plan_prompt_response(scale=scale, seed=seed, faults=faults)
    random = np.random.default_rng(seed)
    bank = sentence_bank(random)
    mean = PROMPT_RESPONSE_BYTES / PROMPT_RESPONSE_ROWS / mean_length(bank) - _PROMPT_SENTENCES
    prompts = random_texts(bank, random, np.full(-(-plan.rows // _SAMPLES_PER_PROMPT), _PROMPT_SENTENCES))
    for start in range(0, plan.rows, _GROUP_ROWS):
        count = min(_GROUP_ROWS, plan.rows - start)
        lengths = np.maximum(random.normal(mean, mean / 3, count).round().astype(np.int64), 1)
        asked = prompts.take(pa.array(np.arange(start, start + count) // _SAMPLES_PER_PROMPT))
        batch = pa.RecordBatch.from_arrays([random_texts(bank, random, lengths), asked], ["response", "prompt"])
        yield spoil_rows(batch, plan.faults, _FAULTS, start)


def write_prompt_response(
    folder: Path, *, scale: float = 1.0, seed: int = 0, faults: Mapping[str, int] | None = None
) -> Path:
    """Write a prompt_response source with its card: `data/train-00000-of-00001.parquet` and README.md.

    `plan_prompt_response` with the same options says which rows the faults spoil. Gives the folder.

    Raises:
        ValueError: faults of another kind than empty_response, or more than there are rows.
    """
    path = folder / "data" / "train-00000-of-00001.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pa.schema([("response", pa.string()), ("prompt", pa.string())])
    rows = size = 0
    with pq.ParquetWriter(path, schema, compression="snappy") as writer:
        for batch in prompt_response_batches(scale, seed=seed, faults=faults):
            writer.write_table(pa.Table.from_batches([batch]), row_group_size=_GROUP_ROWS)
            rows += batch.num_rows
            size += text_bytes(batch)
    (folder / "README.md").write_text(_card(rows, size, path.stat().st_size), encoding="utf-8")
    return folder


def _card(rows: int, size: int, download: int) -> str:
    return f"""---
license: apache-2.0
dataset_info:
  features:
  - name: response
    dtype: string
  - name: prompt
    dtype: string
  splits:
  - name: train
    num_bytes: {size}
    num_examples: {rows}
  download_size: {download}
  dataset_size: {size}
configs:
- config_name: default
  data_files:
  - split: train
    path: data/train-*
---
# Generated REINFORCE rollouts

Invented text in the shape of a REINFORCE dump: one prompt and one response per row.
"""
