"""Single texts as message lists, without copying the text."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rollmill.schema import MESSAGE, MESSAGES

TEXT_FORMAT = "text@1"


def one_message(texts: pa.Array[Any], role: str) -> pa.ListArray[Any]:
    """Make each text the content of one message of `role`; a null text gives an empty list."""
    present = texts.drop_null() if texts.null_count else texts
    fields = [pa.nulls(len(present), field.type) for field in MESSAGE]
    fields[MESSAGE.get_field_index("role")] = pa.repeat(pa.scalar(role), len(present))
    fields[MESSAGE.get_field_index("content")] = present.cast(pa.string())
    messages = pa.StructArray.from_arrays(fields, fields=list(MESSAGE))
    counts = texts.is_valid().cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(counts)])
    return pa.ListArray.from_arrays(offsets, messages, type=MESSAGES)


def only_content(messages: pa.Array[Any]) -> pa.Array[Any]:
    """Undo `one_message`: the content of each list's only message, null for an empty list."""
    contents = messages.flatten().field("content")
    counts = pc.list_value_length(messages)
    positions = pc.subtract(pc.cumulative_sum(counts), 1)
    return contents.take(pc.if_else(pc.equal(counts, 1), positions, pa.scalar(None, positions.type)))
