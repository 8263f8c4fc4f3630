"""Small data with every oddity, as Polars frames."""

from __future__ import annotations

import datetime as dt
from typing import Final

import polars as pl

MIDNIGHT: Final = dt.datetime(2023, 12, 31)  # noqa: DTZ001 - dates of a table have no zone as a rule
NAN, INF = float("nan"), float("inf")

ODD: Final = pl.DataFrame(
    {
        "k": ["a", "a", "b", "", None, "ü€𝄞", "b ", None],
        "t": ["2024-02-29", "2023-02-29", "2024-1-5", None, "tomorrow", "", "2024-02-29", "29.02.2024"],
        "j": ['{"x": 1}', '{"x": "y"}', "[1, 2", "NaN", None, "3", '"é"', "{}"],
        "g": [1, 1, 1, 2, 2, 2, 3, 3],
        "i": [1, 2, 2, 3, 1, 5, 6, 9],
        "v": [1.0, 5.0, NAN, None, INF, 3.0, -0.0, 0.0],
        "w": [0.5, 0.25, None, NAN, 4.0, 4.0, 1.0, -1.0],
        "x": [1.0, 2.0, 1.5, 1.25, 1.75, 1.5, 2.25, 99.0],
        "b": [True, False, True, True, False, False, True, True],
        "d": [day and MIDNIGHT + dt.timedelta(day) for day in (1, 2, None, 4, 3, 9, 9, 11)],
        "nothing": pl.Series([None] * 8, dtype=pl.Float64),
    }
)
EMPTY: Final = ODD.clear()
ALL_NULL: Final = pl.DataFrame({name: pl.Series([None] * 3, dtype=kind) for name, kind in ODD.schema.items()})
CLEAN: Final = pl.DataFrame(
    {
        "k": ["a", "b", "c"],
        "t": ["2024-02-29", "2024-03-01", "2024-03-02"],
        "j": ['{"x": 1}', '{"x": 2}', '{"x": 3}'],
        "g": [1, 2, 3],
        "i": [1, 2, 3],
        "v": [1.0, 2.0, 3.0],
        "w": [0.5, 1.5, 2.5],
        "x": [1.0, 1.0, 1.0],
        "b": [True, True, True],
        "d": [MIDNIGHT + dt.timedelta(day) for day in (1, 2, 3)],
        "nothing": [0.0, 1.0, 2.0],
    }
)
FRAMES: Final = {"odd": ODD, "empty": EMPTY, "all null": ALL_NULL, "clean": CLEAN}
