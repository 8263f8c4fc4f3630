"""Which file names promise which format: the endings we read, and those we know but do not read."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import NamedTuple

FORMATS_READ = "Parquet (.parquet) and JSON lines (.jsonl, .ndjson, .json), each JSON form plain, .gz or .zst"
"""What to say when a file is in another format."""

_PACKED = (".gz", ".zst")
_PACKED_UNREAD = (".xz", ".bz2", ".lz4", ".zip")
_JSON = (".jsonl", ".ndjson", ".json")
_OTHER = (".csv", ".tsv", ".arrow", ".feather", ".msgpack", ".pkl", ".pickle", ".npz", ".orc", ".avro")

DATA_ENDINGS: tuple[str, ...] = (".parquet", *_JSON, *(end + packed for end in _JSON for packed in _PACKED))
"""Endings of the data files that can be read, in lower case."""

UNREAD_ENDINGS: tuple[str, ...] = (
    *_OTHER,
    *(end + packed for end in _OTHER for packed in (*_PACKED, *_PACKED_UNREAD)),
    *(end + packed for end in (*_JSON, ".parquet") for packed in _PACKED_UNREAD),
    *(".parquet" + packed for packed in _PACKED),
)
"""Endings of data files in formats that are not read yet: such a file is refused, never dropped in silence."""


class Ending(NamedTuple):
    """A file name cut at its data ending: `train.jsonl.gz` is `train` and `.jsonl.gz`."""

    stem: str
    ending: str
    readable: bool


def split_ending(name: str) -> Ending | None:
    """Cut the last part of a POSIX path at its data ending (any letter case); None when it promises no data."""
    last = PurePosixPath(name).name
    low = last.lower()
    for readable, endings in ((True, DATA_ENDINGS), (False, UNREAD_ENDINGS)):
        found = max((end for end in endings if low.endswith(end) and len(low) > len(end)), key=len, default=None)
        if found is not None:
            return Ending(last[: -len(found)], found, readable)
    return None
