"""Expectations of the user's own, as the pipeline file or a saved suite of Great Expectations gives them. Plain values.

Types are held against a list of names here; whether the arguments fit is for Great Expectations to say, when it is
there.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from rollmill.expectation_names import EXPECTATIONS, looks_at_records
from rollmill.reasons import checked_reason

_COLUMN_KEYS: Final = ("column", "column_A", "column_B")
_BESIDE: Final = ("severity", "reason")


class Expectation(BaseModel):
    """One expectation: its type in snake case and keyword arguments, JSON values only.

    `severity` off drops the built-in check of the same type and columns. `reason` is the code under which a failing
    record is put aside; critical expectations that look at records have one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: str
    kwargs: dict[str, Any]
    severity: Literal["critical", "warning", "info", "off"] = "critical"
    reason: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _unfold(cls, entry: Any) -> Any:
        """Read the form of the pipeline file, where the type is a key and the arguments are its value."""
        if not isinstance(entry, dict):
            raise ValueError("an expectation is a mapping such as `expect_column_values_to_not_be_null: {column: x}`")  # noqa: TRY004
        if "type" not in entry:
            entry = _unfolded(entry)
        # YAML takes a bare `off` for false
        return entry | {"severity": "off"} if entry.get("severity") is False else entry

    @model_validator(mode="after")
    def _is_whole(self) -> Expectation:
        if self.type not in EXPECTATIONS:
            raise ValueError(f"there is no expectation {self.type!r}{_near(self.type, EXPECTATIONS)}")
        try:
            json.dumps(self.kwargs, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.type} has an argument that is no JSON value: {error}") from error
        if self.reason is not None:
            checked_reason(self.reason)
        elif self.severity == "critical" and looks_at_records(self.type):
            raise ValueError(
                f"{self.type} is critical and looks at records, so it needs a `reason`: the code under which a failing "
                "record is put aside"
            )
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it looks at, those of its row_condition too."""
        return columns_of(self.kwargs)

    @property
    def domain(self) -> str:
        """What it looks at, as text that two expectations share if they look at the same."""
        return domain_of(self.kwargs)


class SuiteFile(BaseModel):
    """A suite as Great Expectations saves it, read once, when the pipeline file is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    expectations: tuple[Expectation, ...]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        return {"path": given, "expectations": read_suite(Path(given))} if isinstance(given, str) else given


def read_suite(path: Path) -> tuple[Expectation, ...]:
    """Read a saved suite. Raises ValueError naming the file and the entry.

    A critical entry that looks at records without `meta.reason` has a code made of its type and columns.
    """
    try:
        saved = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ValueError(f"the suite {path} can't be read: {error}") from error
    if not isinstance(saved, dict) or not isinstance(saved.get("expectations"), list):
        raise ValueError(f"{path} is no suite as Great Expectations saves it: no list of `expectations`")  # noqa: TRY004
    if "expectation_suite_name" in saved:
        raise ValueError(f"{path} was saved by Great Expectations before 1.0; save it again with a later version")
    return tuple(_saved(entry, f"{path}, entry {i}") for i, entry in enumerate(saved["expectations"]))


def columns_of(kwargs: Mapping[str, Any]) -> tuple[str, ...]:
    """Give the columns that an expectation with these arguments looks at."""
    named = [kwargs[key] for key in _COLUMN_KEYS if isinstance(kwargs.get(key), str)]
    named += [name for name in kwargs.get("column_list") or () if isinstance(name, str)]
    return tuple(dict.fromkeys([*named, *_conditioned(kwargs.get("row_condition"))]))


def domain_of(kwargs: Mapping[str, Any]) -> str:
    """Give what of the arguments says where an expectation looks, as canonical text."""
    keys = (*_COLUMN_KEYS, "column_list", "row_condition")
    return json.dumps({key: kwargs[key] for key in keys if kwargs.get(key) is not None}, sort_keys=True)


def near_and_all(name: str, columns: Iterable[str]) -> str:
    """Say which column may be meant, and which there are."""
    listed = list(columns)
    return f"{_near(name, listed)}. Columns there: {', '.join(listed) or 'none'}."


def _near(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, sorted(names), n=1)
    return f"; did you mean {close[0]!r}" if close else ""


def _unfolded(entry: Mapping[str, Any]) -> dict[str, Any]:
    types = [key for key in entry if key not in _BESIDE]
    if len(types) != 1:
        raise ValueError(
            f"an entry has one expectation, and beside it {' and '.join(_BESIDE)}; here: {types or 'none'}"
        )
    kwargs = entry[types[0]]
    if not isinstance(kwargs, dict):
        raise ValueError(f"{types[0]} needs its arguments as a mapping, such as {{column: response}}")  # noqa: TRY004
    return {"type": str(types[0]), "kwargs": kwargs} | {key: entry[key] for key in _BESIDE if key in entry}


def _saved(entry: Any, where: str) -> Expectation:
    """Read an entry of a saved suite; its ids, notes and descriptions say nothing here."""
    try:
        kind, kwargs = str(entry["type"]), dict(entry.get("kwargs") or {})
        severity, reason = entry.get("severity") or "critical", (entry.get("meta") or {}).get("reason")
        if reason is None and severity == "critical" and looks_at_records(kind):
            reason = _derived_reason(kind, kwargs)
        return Expectation(type=kind, kwargs=kwargs, severity=severity, reason=reason)
    except ValidationError as error:
        said = "; ".join(one["msg"].removeprefix("Value error, ") for one in error.errors())
        raise ValueError(f"{where}: {said}") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{where} is no expectation as Great Expectations saves it: {error!r}") from error


def _derived_reason(kind: str, kwargs: Mapping[str, Any]) -> str:
    words = [kind.removeprefix("expect_"), *columns_of({**kwargs, "row_condition": None})]
    return re.sub(r"[^a-z0-9]+", "_", "_".join(words).lower()).strip("_")[:100]


def _conditioned(condition: Any) -> list[str]:
    """Give the columns that a saved row_condition compares."""
    if isinstance(condition, list):
        return [name for part in condition for name in _conditioned(part)]
    if not isinstance(condition, dict):
        return []
    column = condition.get("column")
    named = [column["name"]] if isinstance(column, dict) and "name" in column else []
    return [*named, *_conditioned(condition.get("conditions"))]
