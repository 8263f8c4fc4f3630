"""Conditions on text: regular expressions, LIKE patterns, and what Python has to decide value by value."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import polars as pl

from rollmill.expectations.engine.metrics.narrow import UnservedError, first_paragraph


def contains(text: pl.Expr, regex: str) -> pl.Expr:
    """Give where a regex is found. What Polars (Rust) can't run, Python's `re` does, once per distinct value.

    Raises UnservedError if neither knows the regex.
    """
    if _refusal(regex) is None:
        return text.str.contains(regex)
    return decided(text, _compiled(regex).search)


def fallback_note(regexes: Iterable[str]) -> str | None:
    """Say which of these regexes Python has to run, if any."""
    slow = [regex for regex in regexes if _refusal(regex) is not None]
    if not slow:
        return None
    return f"Run by Python's re, value by value, as Polars can't ({_refusal(slow[0])}): {', '.join(map(repr, slow))}."


@cache
def _refusal(regex: str) -> str | None:
    """Give why Polars can't run a regex."""
    try:
        pl.Series([""]).str.contains(regex)
    except pl.exceptions.PolarsError as error:
        return first_paragraph(error).rpartition("error: ")[2]
    return None


def _compiled(regex: str) -> re.Pattern[str]:
    try:
        return re.compile(regex)
    except re.error as error:
        raise UnservedError(
            f"The regex {regex!r} is not valid: {error} (Python); {_refusal(regex)} (Polars)."
        ) from None


def matches(text: pl.Expr, regexes: Iterable[str], match_on: str) -> pl.Expr:
    """Give where any or all (`match_on`) of the regexes are found."""
    found = [contains(text, regex) for regex in regexes]
    if match_on not in {"any", "all"} or not found:
        raise UnservedError(f"A list of patterns and match_on any or all are needed, not {match_on!r}.")
    return pl.any_horizontal(found) if match_on == "any" else pl.all_horizontal(found)


def like(pattern: str, escape: str | None) -> str:
    """Give a LIKE pattern of SQL as a regex: `%` any text, `_` any character, case counts."""
    parts, taken = [], False
    for character in pattern:
        if taken or character not in {"%", "_", escape}:
            parts.append(re.escape(character))
            taken = False
        elif character == escape:
            taken = True
        else:
            parts.append(".*" if character == "%" else ".")
    return f"(?s)^{''.join(parts)}$"


def decided(text: pl.Expr, good: Callable[[str], object]) -> pl.Expr:
    """Give where a Python function says yes, asked once per distinct value of a batch: slow."""

    def over(batch: pl.Series) -> pl.Series:
        distinct = batch.drop_nulls().unique()
        accepted = distinct.filter(pl.Series([bool(good(value)) for value in distinct], dtype=pl.Boolean))
        return batch.is_in(accepted.implode())

    return text.map_batches(over, return_dtype=pl.Boolean, is_elementwise=True)


def is_json(value: str) -> bool:
    """Say whether Python reads a text as JSON."""
    try:
        json.loads(value)
    except (ValueError, RecursionError):
        return False
    return True


def json_fits(schema: Mapping[str, Any]) -> Callable[[str], bool]:
    """Give the function that says whether a text is JSON that a JSON schema accepts.

    Raises UnservedError if the schema is none.
    """
    import jsonschema

    kind = jsonschema.validators.validator_for(schema)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise UnservedError(f"The JSON schema is not valid: {error.message}") from None
    validator = kind(schema)
    return lambda value: is_json(value) and bool(validator.is_valid(json.loads(value)))


def has_format(value: str, form: str) -> bool:
    """Say whether Python's `strptime` reads a text by a format."""
    try:
        dt.datetime.strptime(value, form)  # noqa: DTZ007 - whether it has a zone is the format's business
    except ValueError:
        return False
    return True


def is_date(value: str) -> bool:
    """Say whether dateutil reads a text as a date."""
    from dateutil.parser import parse

    try:
        parse(value)
    except (ValueError, OverflowError):
        return False
    return True
