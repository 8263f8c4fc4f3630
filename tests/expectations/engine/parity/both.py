"""The same suite on the same data, on this engine and on the pandas engine of Great Expectations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import great_expectations as gx
import polars as pl
from great_expectations.data_context.types.base import ProgressBarsConfig

from rollmill.expectations import Check, Frames, Suite
from rollmill.expectations.engine.convert import to_gx


class Said(NamedTuple):
    """What an engine says about a check: success, the result without what is None or empty, and why there is none."""

    success: bool
    result: dict[str, Any]
    error: bool


NOT_COMPARED: Final = {"unexpected_index_query"}
"""Code for pandas that finds the records again."""

IN_NO_ORDER: Final = {"partial_missing_list"}
"""Lists that pandas makes of sets."""


def judged(engine: str, frame: pl.DataFrame, checks: Sequence[Check], result_format: Any) -> list[Said]:
    """Judge on the engine `pandas` or `polars`; there as three batches."""
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    asset: Any
    data: Any
    if engine == "pandas":
        asset, data = context.data_sources.add_pandas("s").add_dataframe_asset("a"), frame.to_pandas()
    else:
        asset, data = context.data_sources.add_polars("s").add_frame_asset("a"), Frames(frame.schema, thirds(frame))
    batch = asset.add_batch_definition_whole_dataframe("b").get_batch({"dataframe": data})
    found: Any = batch.validate(to_gx(Suite("s", tuple(checks))), result_format=result_format)
    ordered = sorted(found.results, key=lambda one: one.expectation_config.meta["position"])
    return [Said(bool(one.success), plain(one.to_json_dict()["result"]), failed(one.exception_info)) for one in ordered]


def thirds(frame: pl.DataFrame) -> list[pl.DataFrame]:
    return [frame[:3], frame[3:4], frame[4:]]


def failed(info: Any) -> bool:
    return any(one["raised_exception"] for one in ([info] if "raised_exception" in info else info.values()))


def plain(value: Any) -> Any:
    """Take the accidents of types off: NaN is None, floats are rounded, moments are cut to seconds."""
    if isinstance(value, dict):
        found = {key: plain(member) for key, member in value.items() if key not in NOT_COMPARED}
        return {key: sorted(member, key=str) if key in IN_NO_ORDER else member for key, member in found.items()}
    if isinstance(value, list | tuple):
        return [plain(member) for member in value]
    if isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, 9)
    return value


def different(frame: pl.DataFrame, checks: Sequence[Check], result_format: Any) -> Iterator[tuple[Check, Said, Said]]:
    """Give the checks that the engines answer differently: ours, theirs."""
    ours, theirs = (judged(engine, frame, checks, result_format) for engine in ("polars", "pandas"))
    for check, mine, other in zip(checks, ours, theirs, strict=True):
        if mine != other:
            yield check, mine, other
