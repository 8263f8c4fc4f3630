"""What a reader gives: Arrow batches with explicit types, and the records that could not be read. Values, no I/O."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

import pyarrow as pa

JSON_TEXT_KEY = b"rollmill.json"
"""Field metadata that marks a string column whose cells are JSON text: nested, mixed or oversized JSON values."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A record that could not be read.

    `row` is its 0-based record number in the file, `reason` a stable code (bad_json, duplicate_key, invalid_utf8).
    `raw` holds the record whole: the line's bytes (`line`), or one row as an Arrow IPC stream (`arrow_ipc`).
    `detail` says where and what in words, without quoting the record's text.
    """

    row: int
    reason: str
    raw: bytes
    raw_kind: Literal["line", "arrow_ipc"]
    detail: str


@dataclass(frozen=True, slots=True)
class Records:
    """A batch of consecutive records of one file.

    `data` has the file's schema (all strings valid UTF-8); `rows` (int64, as long as `data`) the record numbers.
    """

    rows: pa.Int64Array
    data: pa.RecordBatch
    rejects: tuple[Reject, ...] = ()


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A part of a file that can be read alone: `rows` records, about `bytes` bytes once decoded."""

    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a look at a whole file tells, a pure function of its bytes.

    `rows` counts records, unreadable ones included. `schema` is the schema of every batch read from the file.
    `groups` has one entry for formats that can only be streamed. `counts` tallies harmless changes
    (surrogates_replaced, bom_stripped, …). `note` is the text that HF datasets left in a Parquet footer, if any.
    `bytes_read` is what the look took; it is not kept.
    """

    format: str
    compression: str | None
    rows: int
    schema: pa.Schema
    groups: tuple[RowGroup, ...]
    counts: dict[str, int] = field(default_factory=dict)
    note: str | None = None
    bytes_read: int = field(default=0, compare=False)

    @property
    def decoded_bytes(self) -> int:
        """About how many bytes the records take in memory."""
        return sum(group.bytes for group in self.groups)


class Reader(Protocol):
    """Iterates over the batches of (a range of row groups of) one file, each of about `batch_bytes` at most."""

    bytes_read: int
    """Bytes asked of the file so far."""

    def __iter__(self) -> Iterator[Records]:
        """Read from the start of the range."""
        ...
