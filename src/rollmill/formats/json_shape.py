"""Recognises JSON files that are not JSON lines, so that the refusal can name their shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from rollmill.errors import FileRefusedError
from rollmill.formats.endings import split_ending
from rollmill.formats.lines import Line, TextFile

_HEAD_BYTES = 1 << 20
_WRAPPED_KEY = "data"

ARRAY = "one JSON array"
OBJECT = "one JSON object over several lines"
COLUMNS = "one JSON object of equally long lists (columns)"
WRAPPED = f'one JSON object that wraps the records in a list under "{_WRAPPED_KEY}"'


class ShapeWatch:
    """Watches the first record of a file, and refuses the file if its shape is another than JSON lines.

    A lone object on one line is a record; only in a file with the ending .json may it be a table or a wrapper.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._first: dict[str, Any] | None = None
        self._is_array = False
        self._seen = False

    def fault(self, line: Line, path: Path, compression: str | None) -> None:
        """Look at a line that is no record."""
        if self._seen:
            return
        self._seen = True
        text = bytes(line.data[:_HEAD_BYTES]).strip()
        if text.startswith(b"["):
            if not _is_json(line):
                self._refuse(ARRAY)
            self._is_array = True
        elif text == b"{" or (text.startswith(b"{") and self._goes_on(path, compression)):
            self._refuse(OBJECT)

    def record(self, row: dict[str, Any]) -> None:
        """Look at a record."""
        if not self._seen:
            self._seen = True
            self._first = row
        elif self._first is not None:
            self._first = None

    def end(self, rows: int) -> None:
        """Look at the file as a whole."""
        if rows != 1:
            return
        if self._is_array:
            self._refuse(ARRAY)
        if self._first is not None and _is_named_json(self._name):
            if _is_columns(self._first):
                self._refuse(COLUMNS)
            if _is_wrapped(self._first):
                self._refuse(WRAPPED)

    def _goes_on(self, path: Path, compression: str | None) -> bool:
        with TextFile(path, self._name, compression) as file:
            head = file.head(_HEAD_BYTES).decode("utf-8-sig", errors="replace").lstrip()
        try:
            _, end = json.JSONDecoder().raw_decode(head)
        except (ValueError, RecursionError):
            return False
        return "\n" in head[:end]

    def _refuse(self, shape: str) -> NoReturn:
        raise FileRefusedError(
            f"{self._name} is {shape}, not JSON lines. Write one JSON object a line"
            " (`jq -c '.[]' in.json > out.jsonl` does it for an array) and run again.",
            file=self._name,
        )


def _is_named_json(name: str) -> bool:
    found = split_ending(name)
    return found is not None and found.ending.partition(".json")[2][:1] in ("", ".")


def _is_json(line: Line) -> bool:
    try:
        json.loads(line.data)
    except (ValueError, RecursionError):
        return False
    return True


def _is_columns(row: dict[str, Any]) -> bool:
    lengths = {len(value) if isinstance(value, list) else -1 for value in row.values()}
    return len(lengths) == 1 and min(lengths) > 0


def _is_wrapped(row: dict[str, Any]) -> bool:
    records = row.get(_WRAPPED_KEY)
    return (
        isinstance(records, list)
        and bool(records)
        and all(isinstance(record, dict) for record in records)
        and not any(isinstance(value, (dict, list)) for key, value in row.items() if key != _WRAPPED_KEY)
    )
