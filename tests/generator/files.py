"""Reading what was generated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq


def files_of(folder: Path) -> dict[str, bytes]:
    """Read all files below a folder, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def split_rows(folder: Path, split: str) -> list[dict[str, Any]]:
    """Read a split's rows over its files in order."""
    paths = sorted((folder / "data").glob(f"{split}-*"))
    return [row for path in paths for row in pq.read_table(path).to_pylist()]
