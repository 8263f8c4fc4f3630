"""What only whole rollouts tell: their lengths, which candidate was carried on, and what of a context is new.

`finish` and `expand` take tables of the unified schema that hold whole rollouts, rows sorted by rollout, step_idx and
candidate_idx (`in_order` sorts them). Both work column-wise, on numbers that stand for messages. A step's context
becomes a delta only if it is, message by message and field by field, the context of the step before, the completion
that was carried on there, and something after; `expand` joins these again.

context_id of a delta chains: previous context_id, completion carried on, delta. So equal full contexts reached by
other ways (one chained, one not) may have different ids; equal rollouts never do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from rollmill.identity import combined_id, text_digest
from rollmill.layouts.distinct import Ints
from rollmill.layouts.messages import list_lengths, make_lists, ranges
from rollmill.layouts.steps import Bools, MessageColumn, Steps
from rollmill.schema import MESSAGE, SCHEMA

FULL, DELTA = "full", "delta"
_CHUNK_BYTES: Final = 1 << 28
_MESSAGE_BYTES: Final = 64


def in_order(table: pa.Table) -> pa.Table:
    """Sort rows by rollout in order of first appearance, step_idx and candidate_idx; equals keep their order."""
    keys = pl.DataFrame(pl.from_arrow(table.select(["rollout_id", "step_idx", "candidate_idx"])))
    first = pl.col("at").min().over("rollout_id").alias("first")
    places = keys.with_row_index("at").sort(first, "step_idx", "candidate_idx", "at")["at"]
    return table if places.is_sorted() else table.take(places.cast(pl.Int64).to_arrow())


def finish(table: pa.Table) -> pa.Table:
    """Set num_steps, is_last, is_selected and prompt_id; store of a context only what is new, where that is exact.

    Raises ValueError if a rollout's rows are not together and in order.
    """
    if not table.num_rows:
        return table
    steps = Steps(table)
    contexts, completions = MessageColumn(table, "context"), MessageColumn(table, "completion")
    links = _link(table, steps, contexts, completions)
    completion_digests = completions.digests(completions.starts, completions.lengths)
    context_ids = _context_ids(table, steps, links, contexts, completion_digests)
    changed = {
        "num_steps": steps.counts,
        "is_last": steps.is_last,
        "is_selected": links.is_selected(steps),
        "prompt_id": context_ids.gather(steps.rollout_start),
        "context_id": context_ids,
        "content_id": content_ids(context_ids, completion_digests),
        "context": _without(table.column("context"), links.known[steps.of]),
        "context_mode": np.where(links.delta[steps.of], DELTA, table.column("context_mode").to_numpy()),
    }
    return _replaced(table, changed)


def expand(table: pa.Table) -> pa.Table:
    """Give every context in full again, as it was before `finish`. All other columns stay, ids among them."""
    modes = pl.Series(pl.from_arrow(table.column("context_mode")))
    delta = (modes == DELTA).to_numpy()
    if not delta.any():
        return table
    steps = Steps(table)
    contexts, completions = MessageColumn(table, "context"), MessageColumn(table, "completion")
    carried = steps.carried(table.column("is_selected"))
    pool = pa.concat_arrays([*contexts.flats, *completions.flats])
    # the path: of each step the context stored and the completion carried on, one step after the other
    starts = np.column_stack([contexts.starts[carried], completions.starts[carried] + contexts.total]).ravel()
    lengths = np.column_stack([contexts.lengths[carried], completions.lengths[carried]]).ravel()
    places = np.concatenate([np.arange(contexts.total), ranges(starts, lengths)])
    ends = contexts.total + np.cumsum(lengths)
    whole = np.maximum.accumulate(np.where(delta[steps.first], 0, np.arange(len(steps.first))))
    row_starts = np.where(delta, (ends - lengths)[2 * whole][steps.of], contexts.starts)
    row_ends = np.where(delta, ends[::2][steps.of], contexts.starts + contexts.lengths)
    full = _gathered(pool, places, row_starts, row_ends - row_starts)
    return _replaced(table, {"context": full, "context_mode": np.where(delta, FULL, modes.to_numpy())})


def context_ids(contexts: pl.Series, tools: pa.Array[Any]) -> pl.Series:
    """Identify full contexts, given their `messages_digest`, with the canonical tools that were given."""
    return combined_id("context", "messages", contexts, text_digest(pl.Series(pl.from_arrow(tools))))


def content_ids(contexts: pl.Series, completions: pl.Series) -> pl.Series:
    """Identify context and completion together, given context_id and the completion's `messages_digest`."""
    return combined_id("content", contexts, "messages", completions)


@dataclass(frozen=True)
class _Links:
    """How steps continue each other.

    Attributes:
        carried: per step, the row that the next step continues; the first row where that is not known.
        chosen: per step, whether exactly one row is continued by the next step.
        delta: per step, whether it continues the one before.
        known: per step, how many messages of its context the step before has already; 0 unless `delta`.
    """

    carried: Ints
    chosen: Bools
    delta: Bools
    known: Ints

    def is_selected(self, steps: Steps) -> pa.Array[Any]:
        """Per row: whether it was carried on, null where there is no choice or nothing shows it."""
        shown = (self.chosen & (steps.sizes > 1))[steps.of]
        return pa.array(self.carried[steps.of] == np.arange(steps.rows), mask=~shown)


def _link(table: pa.Table, steps: Steps, contexts: MessageColumn, completions: MessageColumn) -> _Links:
    ids = pl.concat([contexts.ids, completions.ids]).to_arrow()
    numbers = pc.dictionary_encode(ids).indices.to_numpy().astype(np.int64)
    seen, said = numbers[: contexts.total], numbers[contexts.total :]
    frame = _frames(table)
    full = pc.equal(table.column("context_mode"), FULL).to_numpy()
    rows = np.arange(steps.rows)

    def continued(a: Ints, b: Ints) -> Bools:
        """Whether the context of each row b is that of row a and more."""
        longer = contexts.lengths[b] >= contexts.lengths[a]
        same = longer & full[a] & full[b] & (frame[a] == frame[b])
        same[same] = _equal(seen, contexts.starts[a[same]], seen, contexts.starts[b[same]], contexts.lengths[a[same]])
        return np.asarray(same, dtype=bool)

    first = steps.first[steps.of]
    agrees = continued(first, rows) & (contexts.lengths == contexts.lengths[first])
    agreed = np.logical_and.reduceat(agrees, steps.first)
    usable = np.append(agreed[1:], False) & steps.followed
    a = np.flatnonzero(usable[steps.of])
    b = steps.first[steps.of[a] + 1]
    whole = contexts.lengths[a] + completions.lengths[a]
    ok = contexts.lengths[b] >= whole
    a, b, whole = a[ok], b[ok], whole[ok]
    said_there = contexts.starts[b] + contexts.lengths[a]
    ok = _equal(said, completions.starts[a], seen, said_there, completions.lengths[a])
    a, b, whole = a[ok], b[ok], whole[ok]
    a, whole = (values[continued(a, b)] for values in (a, whole))
    chosen = np.bincount(steps.of[a], minlength=len(steps.first)) == 1
    a, whole = (values[chosen[steps.of[a]]] for values in (a, whole))
    carried, known = steps.first.copy(), np.zeros(len(steps.first), np.int64)
    carried[steps.of[a]] = a
    known[steps.of[a] + 1] = whole
    return _Links(carried, chosen, np.concatenate([[False], chosen[:-1]]), known)


def _frames(table: pa.Table) -> Ints:
    """Number what else must be equal for contexts to be joined: tools and how messages are written."""
    columns = table.select(["tools_json", "context_format", "completion_format"])
    frame = pl.DataFrame(pl.from_arrow(columns))
    numbers: Ints = frame.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.int64)
    return numbers


def _equal(a: Ints, a_starts: Ints, b: Ints, b_starts: Ints, lengths: Ints) -> Bools:
    """Whether ranges of two arrays are equal."""
    different = a[ranges(a_starts, lengths)] != b[ranges(b_starts, lengths)]
    counts = np.concatenate([[0], np.cumsum(different)])
    ends = np.cumsum(lengths)
    equal: Bools = counts[ends] == counts[ends - lengths]
    return equal


def _context_ids(
    table: pa.Table, steps: Steps, links: _Links, contexts: MessageColumn, completion_digests: pl.Series
) -> pl.Series:
    """Per row: the id it has where its context is stored in full, else the chained one; by rank over all rollouts."""
    own = pl.Series(pl.from_arrow(table.column("context_id")))
    rest = contexts.starts[steps.first] + links.known
    deltas = contexts.digests(rest, np.where(links.delta, contexts.lengths[steps.first] - links.known, 0))
    carried_ids, said = own.gather(links.carried), completion_digests.gather(links.carried)
    order = np.argsort(steps.rank, kind="stable")
    place = np.empty_like(order)
    levels = np.split(order, np.cumsum(np.bincount(steps.rank))[:-1])
    done: list[pl.Series] = []
    for level in levels:
        ids = carried_ids.gather(level)
        if done:
            before = done[-1].gather(place[level - 1])
            chained = combined_id("context", DELTA, before, said.gather(level - 1), deltas.gather(level))
            ids = chained.zip_with(pl.Series(links.delta[level]), ids)
        place[level] = np.arange(len(level))
        done.append(ids)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    by_row = pl.concat(done).gather(back).gather(steps.of)
    return by_row.zip_with(pl.Series(links.delta[steps.of]), own)


def _without(lists: pa.ChunkedArray[Any], known: Ints) -> pa.ChunkedArray[Any]:
    """Leave out the first `known` messages of each list."""
    chunks, at = [], 0
    for chunk in lists.chunks:
        leave = known[at : at + len(chunk)]
        lengths = list_lengths(chunk)
        places = ranges(np.cumsum(lengths) - lengths + leave, lengths - leave)
        chunks.append(make_lists(lengths - leave, chunk.flatten().take(pa.array(places)), None))
        at += len(chunk)
    return pa.chunked_array(chunks, lists.type)


def _gathered(pool: pa.StructArray, places: Ints, starts: Ints, lengths: Ints) -> pa.ChunkedArray[Any]:
    """Build lists of ranges of `places`, in chunks that Arrow's 32-bit offsets can hold."""
    content = pool.field(MESSAGE.get_field_index("content"))
    weights = pc.fill_null(pc.binary_length(content), 0).to_numpy(zero_copy_only=False) + _MESSAGE_BYTES
    total = np.concatenate([[0], np.cumsum(weights[places])])
    sizes = np.cumsum(total[starts + lengths] - total[starts])
    cuts = np.flatnonzero(np.diff(sizes // _CHUNK_BYTES)) + 1
    chunks = []
    for rows in np.split(np.arange(len(starts)), cuts):
        taken = places[ranges(starts[rows], lengths[rows])]
        chunks.append(make_lists(lengths[rows], pool.take(pa.array(taken)), None))
    return pa.chunked_array(chunks)


def _replaced(table: pa.Table, columns: dict[str, Any]) -> pa.Table:
    for name, values in columns.items():
        field = SCHEMA.field(name)
        plain = values.to_arrow() if isinstance(values, pl.Series) else values
        array = plain if isinstance(plain, pa.ChunkedArray) else pa.chunked_array([pa.array(plain)])
        table = table.set_column(table.schema.get_field_index(name), field, array.cast(field.type))
    return table
