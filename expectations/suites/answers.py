"""Checks of layouts whose records are a prompt, an answer and perhaps a reward."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from rollmill.expectations.suites.model import Check
from rollmill.formats.records import JSON_TEXT_KEY

BLANK: Final = r"^[\s\x1c-\x1f]*$"
"""Text of which Python's `str.strip()` leaves nothing."""

_NUMBER: Final = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NOT_FINITE: Final = r"[+-]?(?i:nan|inf|infinity)"
_SPACE: Final = r"[\s\x1c-\x1f]*"

NUMBER_TEXT: Final = rf"^{_SPACE}(?:{_NUMBER}|{_NOT_FINITE}){_SPACE}$"
NUMBER_JSON: Final = rf'^\s*(?:true|false|{_NUMBER}|-?NaN|-?Infinity|"\s*(?:{_NUMBER}|{_NOT_FINITE})\s*")\s*$'
CONTAINER_JSON: Final = r"^\s*[\[{]"
NULL_JSON: Final = r"^\s*null\s*$"


def answer_checks(schema: pa.Schema, *, reward: str) -> list[Check]:
    """Give the checks of an answer, its reward (a column that may not be there) and its prompt, critical ones first."""
    checks = [*_response(schema), *(_reward(schema.field(reward)) if reward in schema.names else ())]
    if "prompt" in schema.names:
        kwargs = {"column_list": ["prompt", "response"]}
        checks += _prompt(schema.field("prompt"))
        checks.append(Check("expect_compound_columns_to_be_unique", kwargs, severity="warning"))
    return checks


def _response(schema: pa.Schema) -> list[Check]:
    checks = [_critical("not_be_null", "response", "empty_response")]
    if "response" not in schema.names or is_text(schema.field("response").type):
        checks.append(_critical("not_match_regex", "response", "empty_response", regex=BLANK))
    return checks


def _prompt(field: pa.Field) -> list[Check]:
    checks = [Check("expect_column_values_to_not_be_null", {"column": "prompt"}, severity="warning")]
    if is_text(field.type):
        kwargs = {"column": "prompt", "regex": BLANK}
        checks.append(Check("expect_column_values_to_not_match_regex", kwargs, severity="warning"))
    return checks


def _reward(field: pa.Field) -> list[Check]:
    """Order matters: NaN is null to the expectations of Great Expectations, so `finite` stands before `not null`."""
    finite = _critical("be_finite", field.name, "reward_not_finite")
    given = _critical("not_be_null", field.name, "reward_missing")
    kind = field.type
    if pa.types.is_floating(kind):
        return [finite, given]
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind) or pa.types.is_decimal(kind):
        return [given]
    if is_text(kind):
        return [finite, given, *(_json_reward(field.name) if _is_json(field) else _text_reward(field.name))]
    reason = "reward_shape" if pa.types.is_nested(kind) else "reward_not_a_number"
    return [given, _critical("be_null", field.name, reason)]


def _text_reward(column: str) -> list[Check]:
    return [_critical("match_regex", column, "reward_not_a_number", regex=NUMBER_TEXT)]


def _json_reward(column: str) -> list[Check]:
    return [
        _critical("not_match_regex", column, "reward_missing", regex=NULL_JSON),
        _critical("not_match_regex", column, "reward_shape", regex=CONTAINER_JSON),
        _critical("match_regex", column, "reward_not_a_number", regex=NUMBER_JSON),
    ]


def _critical(expected: str, column: str, reason: str, **kwargs: Any) -> Check:
    return Check(f"expect_column_values_to_{expected}", {"column": column, **kwargs}, reason=reason)


def _is_json(field: pa.Field) -> bool:
    return field.metadata is not None and JSON_TEXT_KEY in field.metadata


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a type is text, dictionary-encoded or not."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
