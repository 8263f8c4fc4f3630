"""Inspections as JSON, so that a manifest can keep them and a second run need not look again."""

from __future__ import annotations

import base64
from typing import Any

import pyarrow as pa

from rollmill.formats.records import Inspection, RowGroup


def to_json(inspection: Inspection) -> dict[str, Any]:
    """Give a JSON-serialisable form; the schema is base64 of an Arrow IPC schema message."""
    return {
        "format": inspection.format,
        "compression": inspection.compression,
        "rows": inspection.rows,
        "schema": base64.b64encode(inspection.schema.serialize().to_pybytes()).decode(),
        "groups": [[group.rows, group.bytes] for group in inspection.groups],
        "counts": dict(sorted(inspection.counts.items())),
        "note": inspection.note,
    }


def from_json(value: dict[str, Any]) -> Inspection:
    """Read back what `to_json` gave; raises KeyError, TypeError or ValueError for anything else."""
    return Inspection(
        format=value["format"],
        compression=value["compression"],
        rows=value["rows"],
        schema=pa.ipc.read_schema(pa.py_buffer(base64.b64decode(value["schema"]))),
        groups=tuple(RowGroup(rows, size) for rows, size in value["groups"]),
        counts=dict(value["counts"]),
        note=value["note"],
    )
