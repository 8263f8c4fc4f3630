"""The rows of a ppo_critic source, a row group at a time, without a loop over rows.

Eight rows ask about one answer of the actor: four growing parts of it, each put to the critic twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from rollmill.generator.faults import spoil_rows
from rollmill.generator.hub import with_features
from rollmill.generator.ppo_critic import PPO_CRITIC_FAULTS, PpoCriticPlan, PpoSplit
from rollmill.generator.texts import join_texts, mean_length, sentence_bank, text_bytes, text_offsets

PPO_CRITIC_SCHEMA: Final = with_features(
    pa.schema(
        [
            ("prompt", pa.string()),
            ("response", pa.string()),
            ("pred", pa.float64()),
            ("target", pa.float64()),
            ("score", pa.float64()),
        ]
    )
)
_ROW_OVERHEAD: Final = 32  # three numbers and two offsets
_GROUP_ROWS: Final = 4096
_PARTS: Final = 4
_SAMPLES: Final = 2
_BANK: Final = 30_000
_STREAM: Final = 1 << 20
_LONGEST: Final = 256
_TASK_SENTENCES: Final = (4, 9)  # fewest, and how many numbers from there on
_PART_SENTENCES: Final = (8, 17)
_HEADER: Final = (
    "You judge answers while they are being written. The policy under judgement solves about half of such tasks, "
    "checks little, and seldom repairs a wrong start.\n\nTask and answer so far:\n\n"
)
_FOOTER: Final = (
    "\n\nHow likely will the finished answer be right? Think it through, then end with `Value:` and a number from "
    "0.00 to 1.00."
)

_Numbers = np.ndarray[Any, Any]
_Random = np.random.Generator


@lru_cache(maxsize=2)
def _material(seed: int) -> tuple[pa.StringArray, _Numbers]:
    """Make the bank (sentences, header, footer, the values 0.00 to 1.00) and the stream of which prompts are cut."""
    random = np.random.default_rng([seed, 0xC817])
    values = [f"Value: {k / 100:.2f}" for k in range(101)]
    bank = pa.concat_arrays([sentence_bank(random, _BANK), pa.array([_HEADER, _FOOTER, *values])])
    return bank, random.integers(0, _BANK, _STREAM + _LONGEST, dtype=np.int32)


def split_batches(plan: PpoCriticPlan, split: PpoSplit) -> Iterator[pa.RecordBatch]:
    """Give a split's rows, 4,096 at a time."""
    here = [fault for fault in plan.faults if fault.split == split.name]
    for start in range(0, split.rows, _GROUP_ROWS):
        random = np.random.default_rng([plan.seed, split.index, start])
        batch = _batch(plan.seed, split, random, min(_GROUP_ROWS, split.rows - start))
        yield spoil_rows(batch, here, PPO_CRITIC_FAULTS, start)


def arrow_bytes(batch: pa.RecordBatch) -> int:
    """Count a batch as datasets counts `num_bytes`."""
    return text_bytes(batch) + _ROW_OVERHEAD * len(batch)


def _batch(seed: int, split: PpoSplit, random: _Random, rows: int) -> pa.RecordBatch:
    bank, _ = _material(seed)
    starts = random.integers(0, _STREAM, -(-rows // (_PARTS * _SAMPLES)))
    prompts = _prompts(seed, starts).take(pa.array(np.arange(rows) // _SAMPLES))
    target = np.repeat(_mixed(starts, 40) & 1, _PARTS * _SAMPLES)[:rows].astype(np.float64)
    noise = random.normal(0, 0.4 - split.iteration / 1000, rows)
    hundredths = np.clip(np.rint(100 * (0.2 + 0.6 * target + noise)), 0, 100).astype(np.int64)
    pred = hundredths / 100
    responses = _responses(bank, random, hundredths, split.row_bytes - _mean_prompt(bank) - _ROW_OVERHEAD)
    columns = [prompts, responses, pa.array(pred), pa.array(target), pa.array(1 - np.abs(pred - target))]
    return pa.RecordBatch.from_arrays(columns, schema=PPO_CRITIC_SCHEMA)


def _mixed(starts: _Numbers, shift: int) -> _Numbers:
    """Hash places in the stream: all that is fixed for a task follows from where it starts."""
    return starts * 0x5DEECE66D1 >> shift


def _prompts(seed: int, starts: _Numbers) -> pa.StringArray:
    """Cut the task and a growing part of the answer out of the stream: the same start gives the same prompts."""
    bank, stream = _material(seed)
    task = np.repeat(_TASK_SENTENCES[0] + _mixed(starts, 20) % _TASK_SENTENCES[1], _PARTS)
    part = np.repeat(_PART_SENTENCES[0] + _mixed(starts, 30) % _PART_SENTENCES[1], _PARTS)
    counts = task + part * np.tile(np.arange(1, _PARTS + 1), len(starts)) + 2
    offsets = text_offsets(counts)
    places = np.repeat(np.repeat(starts, _PARTS) - offsets[:-1], counts) + np.arange(offsets[-1])
    sentences = stream[places]
    sentences[offsets[:-1]] = _BANK
    sentences[offsets[1:] - 1] = _BANK + 1
    return join_texts(bank, sentences, offsets)


def _responses(bank: pa.StringArray, random: _Random, hundredths: _Numbers, size: float) -> pa.StringArray:
    """Write the critic's reasoning, about `size` bytes each, and the value at its end."""
    mean = (size - len("Value: 0.00")) / mean_length(bank[:_BANK])
    counts = np.maximum(random.normal(mean, mean / 3, len(hundredths)).round().astype(np.int64), 1) + 1
    offsets = text_offsets(counts)
    sentences = random.integers(0, _BANK, int(offsets[-1]), dtype=np.int32)
    sentences[offsets[1:] - 1] = _BANK + 2 + hundredths
    return join_texts(bank, sentences, offsets)


def _mean_prompt(bank: pa.StringArray) -> float:
    task, part = (low + (span - 1) / 2 for low, span in (_TASK_SENTENCES, _PART_SENTENCES))
    sentences = task + part * (_PARTS + 1) / 2
    return len(_HEADER) + len(_FOOTER) + 1 + sentences * mean_length(bank[:_BANK])
