"""Generated sources of the real seeds' shapes and sizes, cards included. The same scale and seed give the same bytes.

The texts are put together from a bank of invented sentences. What is taken from the real dataset is its form: column
order, row and byte counts, file and row group sizes, how often prompts repeat.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

PROMPT_RESPONSE_ROWS: Final = 16_710
PROMPT_RESPONSE_BYTES: Final = 370_594_598
_SAMPLES_PER_PROMPT: Final = 8
_GROUP_ROWS: Final = 1000
_PROMPT_SENTENCES: Final = 6
_BANK: Final = 6_000

_OPENINGS: Final = (
    "Let me look at", "So we need", "First I check", "That means", "Now consider", "It follows that we have",
    "Going back to", "I should verify", "Suppose instead we take", "The next case is", "Adding up gives", "Hence",
)  # fmt: skip
_SUBJECTS: Final = (
    "the sum of the digits", "the area of the triangle", "the remainder modulo", "the number of ways to choose",
    "the slope between the points", "the product of the roots", "the last term of the sequence", "the cost per item",
    "the time the second train needs", "the probability that none is red", "the largest prime factor", "the median",
)  # fmt: skip
_RELATIONS: Final = (
    "which is",
    "equal to",
    "at most",
    "divided by",
    "multiplied by",
    "minus",
    "together with",
    "and not",
)


def _bank(random: np.random.Generator) -> pa.StringArray:
    """Invent sentences."""
    parts = [random.integers(0, len(words), _BANK) for words in (_OPENINGS, _SUBJECTS, _RELATIONS)]
    numbers = random.integers(1, 10_000, (_BANK, 3))
    sentences = [
        f"{_OPENINGS[a]} {_SUBJECTS[b]} {x}, {_RELATIONS[c]} {y}, so {x} and {y} leave {z}."
        for a, b, c, (x, y, z) in zip(*parts, numbers, strict=True)
    ]
    return pa.array(sentences, pa.string())


def _texts(bank: pa.StringArray, random: np.random.Generator, counts: np.ndarray[Any, Any]) -> pa.StringArray:
    """Join `counts[i]` random sentences to the i-th text."""
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    chosen = bank.take(pa.array(random.integers(0, len(bank), int(offsets[-1]))))
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), chosen), " ")


def prompt_response_batches(scale: float, *, seed: int = 0) -> Iterator[pa.RecordBatch]:
    """Give the rows of a prompt_response source, a row group at a time: `response` before `prompt`, as in the seed."""
    random = np.random.default_rng(seed)
    bank = _bank(random)
    rows = max(round(PROMPT_RESPONSE_ROWS * scale), 1)
    sentence = float(pc.mean(pc.binary_length(bank)).as_py()) + 1
    mean = PROMPT_RESPONSE_BYTES / PROMPT_RESPONSE_ROWS / sentence - _PROMPT_SENTENCES
    prompts = _texts(bank, random, np.full(-(-rows // _SAMPLES_PER_PROMPT), _PROMPT_SENTENCES))
    for start in range(0, rows, _GROUP_ROWS):
        count = min(_GROUP_ROWS, rows - start)
        lengths = np.maximum(random.normal(mean, mean / 3, count).round().astype(np.int64), 1)
        asked = pa.array(np.arange(start, start + count) // _SAMPLES_PER_PROMPT)
        yield pa.RecordBatch.from_arrays([_texts(bank, random, lengths), prompts.take(asked)], ["response", "prompt"])


def write_prompt_response(folder: Path, *, scale: float = 1.0, seed: int = 0) -> Path:
    """Write a prompt_response source with its card: `data/train-00000-of-00001.parquet` and README.md."""
    path = folder / "data" / "train-00000-of-00001.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pa.schema([("response", pa.string()), ("prompt", pa.string())])
    rows = size = 0
    with pq.ParquetWriter(path, schema, compression="snappy") as writer:
        for batch in prompt_response_batches(scale, seed=seed):
            writer.write_table(pa.Table.from_batches([batch]), row_group_size=_GROUP_ROWS)
            rows += batch.num_rows
            size += sum(pc.sum(pc.binary_length(column)).as_py() for column in batch.columns)
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
