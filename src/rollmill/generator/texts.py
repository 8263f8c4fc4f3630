"""Texts put together from banks of invented sentences, a column at a time."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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


def sentence_bank(random: np.random.Generator, size: int = _BANK) -> pa.StringArray:
    """Invent sentences."""
    parts = [random.integers(0, len(words), size) for words in (_OPENINGS, _SUBJECTS, _RELATIONS)]
    numbers = random.integers(1, 10_000, (size, 3))
    sentences = [
        f"{_OPENINGS[a]} {_SUBJECTS[b]} {x}, {_RELATIONS[c]} {y}, so {x} and {y} leave {z}."
        for a, b, c, (x, y, z) in zip(*parts, numbers, strict=True)
    ]
    return pa.array(sentences, pa.string())


def text_offsets(counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Give where texts of `counts[i]` sentences begin and end in their flat list of sentences."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


def join_texts(bank: pa.StringArray, sentences: np.ndarray[Any, Any], offsets: np.ndarray[Any, Any]) -> pa.StringArray:
    """Join the bank's sentences `sentences[offsets[i]:offsets[i + 1]]` to the i-th text."""
    chosen = bank.take(pa.array(sentences))
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), chosen), " ")


def random_texts(bank: pa.StringArray, random: np.random.Generator, counts: np.ndarray[Any, Any]) -> pa.StringArray:
    """Join `counts[i]` random sentences to the i-th text."""
    offsets = text_offsets(counts)
    return join_texts(bank, random.integers(0, len(bank), int(offsets[-1])), offsets)


def mean_length(bank: pa.StringArray) -> float:
    """Give the mean length of a sentence in bytes, the space behind it included."""
    return float(pc.mean(pc.binary_length(bank)).as_py()) + 1


def text_bytes(batch: pa.RecordBatch) -> int:
    """Give the bytes of text in a batch."""
    lengths = (pc.binary_length(column) for column in batch.columns if pa.types.is_string(column.type))
    return sum(int(pc.sum(column).as_py() or 0) for column in lengths)
