"""What `push_to_hub` of the datasets library leaves behind: features in footers, splits and sizes in the card."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import yaml

_DTYPES = {pa.float64(): "float64", pa.int64(): "int64", pa.string(): "string", pa.bool_(): "bool"}


@dataclass(frozen=True, slots=True)
class SplitFacts:
    """What a card says of a split. `num_bytes`: in memory as Arrow; `download`: on disk."""

    name: str
    rows: int
    num_bytes: int
    download: int


def with_features(schema: pa.Schema) -> pa.Schema:
    """Add the note by which datasets finds a file's features again."""
    features = {field.name: _feature(field.type) for field in schema}
    return schema.with_metadata({"huggingface": json.dumps({"info": {"features": features}})})


def shard_path(split: str, index: int, shards: int) -> str:
    """Name a split's file as the Hub does."""
    return f"data/{split}-{index:05d}-of-{shards:05d}.parquet"


def dataset_card(schema: pa.Schema, pushed: Sequence[SplitFacts], listed: Sequence[str], body: str) -> str:
    """Write the card of a flat table: splits in the order they were `pushed`, data files as `listed`."""
    info = {
        "features": [{"name": field.name, "dtype": _DTYPES[field.type]} for field in schema],
        "splits": [{"name": s.name, "num_bytes": s.num_bytes, "num_examples": s.rows} for s in pushed],
        "download_size": sum(split.download for split in pushed),
        "dataset_size": sum(split.num_bytes for split in pushed),
    }
    files = [{"split": name, "path": f"data/{name}-*"} for name in listed]
    header = {"dataset_info": info, "configs": [{"config_name": "default", "data_files": files}]}
    return f"---\n{yaml.safe_dump(header, sort_keys=False)}---\n{body}"


def _feature(kind: pa.DataType) -> Any:
    if pa.types.is_struct(kind):
        return {field.name: _feature(field.type) for field in kind}
    if pa.types.is_list(kind):
        return {"feature": _feature(kind.value_type), "_type": "List"}
    return {"dtype": _DTYPES[kind], "_type": "Value"}
