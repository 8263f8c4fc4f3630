"""Records spoiled on purpose: how many of which kind is asked for, where they lie follows from the seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_STREAM: Final = 0xFA17
"""Keeps the draw of positions apart from the draws that make the texts: faults leave all other rows alone."""

FORMS: Final[Mapping[str, tuple[Any, ...]]] = {
    "empty_response": ("", " \n", None),
    "reward_not_finite": (float("nan"), float("inf"), float("-inf")),
    "reward_missing": (None,),
}
"""What a spoiled cell holds: reason code -> its forms, taken in turn."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A record spoiled on purpose.

    Attributes:
        reason: the reason code under which the record should be put aside.
        split: the split that holds the record.
        row: the first spoiled row, 0-based in the split, counted over its files in order.
        rows: all rows of the record: the row alone, or those of its rollout.
        form: which of the kind's forms it takes, counted from 0.
    """

    reason: str
    split: str
    row: int
    rows: range
    form: int

    @property
    def value(self) -> Any:
        """What the spoiled cell holds, for the kinds in `FORMS`."""
        forms = FORMS[self.reason]
        return forms[self.form % len(forms)]


def draw_records(
    faults: Mapping[str, int] | None, records: int, seed: int, known: Iterable[str]
) -> list[tuple[str, int, int]]:
    """Give (reason, record, form) for the faults asked for, no record twice, by record.

    Raises:
        ValueError: a reason code that this source can't have, a negative number, or more faults than records.
    """
    wanted = {reason: count for reason, count in sorted((faults or {}).items()) if count}
    unknown = set(wanted).difference(known)
    if unknown:
        raise ValueError(f"no such fault here: {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    total = sum(wanted.values())
    if min(wanted.values(), default=0) < 0 or total > records:
        raise ValueError(f"{total} records to spoil: there are {records}")
    random = np.random.default_rng([seed, _STREAM])
    chosen = iter(random.choice(records, total, replace=False).tolist())
    drawn = [(reason, next(chosen), form) for reason, count in wanted.items() for form in range(count)]
    return sorted(drawn, key=lambda fault: fault[1])


def draw_rows(
    faults: Mapping[str, int] | None, splits: Sequence[tuple[str, int]], seed: int, known: Iterable[str]
) -> tuple[Fault, ...]:
    """Draw single-row records over splits, given as (name, rows)."""
    ends = np.cumsum([rows for _, rows in splits])
    found = []
    for reason, record, form in draw_records(faults, int(ends[-1]), seed, known):
        at = int(np.searchsorted(ends, record, side="right"))
        row = record - int(ends[at]) + splits[at][1]
        found.append(Fault(reason, splits[at][0], row, range(row, row + 1), form))
    return tuple(found)


def spoil_rows(
    batch: pa.RecordBatch, faults: Sequence[Fault], columns: Mapping[str, str], first_row: int
) -> pa.RecordBatch:
    """Put the faults that lie in a batch into it.

    `columns`: reason code -> the column it spoils; `first_row`: the number in the split of the batch's first row.
    """
    here = [fault for fault in faults if first_row <= fault.row < first_row + batch.num_rows]
    for reason in sorted({fault.reason for fault in here}):
        spoiled = [fault for fault in here if fault.reason == reason]
        mask = np.zeros(batch.num_rows, dtype=bool)
        mask[[fault.row - first_row for fault in spoiled]] = True
        at = batch.schema.get_field_index(columns[reason])
        values = pa.array([fault.value for fault in spoiled], batch.schema.field(at).type)
        column = pc.replace_with_mask(batch.column(at), pa.array(mask), values)
        batch = batch.set_column(at, batch.schema.field(at), column)
    return batch
