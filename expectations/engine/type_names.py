"""Names of column types, as suites write them."""

from __future__ import annotations

from typing import Final

import polars as pl

_KNOWN: Final = {
    name.casefold()
    for name, kind in vars(pl).items()
    if isinstance(kind, type) and issubclass(kind, pl.DataType) and kind is not pl.DataType
}
_PYTHON: Final = {"str": "string", "bool": "boolean", "int": "int64", "float": "float64", "bytes": "binary"}


def named(kind: str, name: str) -> bool:
    """Say whether a type (as Polars writes it) has a name: its own, that of its family (`List`), or Python's word.

    Case does not count. Raises ValueError for a name that is no type of Polars.
    """
    asked = _PYTHON.get(name.casefold(), name.casefold())
    if asked.partition("(")[0] not in _KNOWN:
        raise ValueError(f"{name!r} is no type of Polars.")
    return asked in {kind.casefold(), kind.casefold().partition("(")[0]}
