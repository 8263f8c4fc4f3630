"""The last number of a text: what an answer ends in, boxed or plain."""

from __future__ import annotations

from typing import Final

import polars as pl

_DIGITS: Final = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]*)?|\.[0-9]+"
_NUMBER: Final = rf"(?:{_DIGITS})(?:[eE][+-]?[0-9]+)?"
_LAST: Final = rf"(?s)(?:(?:^|[^\w.,)\]}}])([+-]{_NUMBER})|({_NUMBER}))[^0-9]*$"
"""A number with no digit behind it; a sign counts unless it stands behind a word, a number or a closing bracket."""

_BOX: Final = r"\\boxed\s*\{[^}]*"


def last_number(text: pl.Expr) -> pl.Expr:
    r"""Give the last number in the last `\boxed{…}` of a text, else in the whole text; null if there is none.

    Digits may be grouped by commas; a sign, a fraction and an exponent belong to the number, a percent sign does not.
    """
    boxed = text.str.extract_all(_BOX).list.last()
    return pl.coalesce(_number(boxed), _number(text))


def _number(text: pl.Expr) -> pl.Expr:
    found = text.str.extract_groups(_LAST)
    digits = pl.coalesce(found.struct.field("1"), found.struct.field("2"))
    return digits.str.replace_all(",", "", literal=True).cast(pl.Float64, strict=False)
