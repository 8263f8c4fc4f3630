"""The exceptions of Rollmill. The class is the policy: who must act, and what the run does.

RollmillError
├── ConfigError            the pipeline file or the command is wrong: nothing was started (exit 2)
├── DataRefusedError       the data may not be published as they are: nothing is published (exit 3)
│   ├── FileRefusedError       one file can't be read, or holds what it must not
│   ├── LayoutError            no layout fits, or several do
│   ├── NothingToReadError     a source without a data file or record
│   ├── DriftError             the data are not what the card or the pipeline file says they are
│   ├── QuarantineLimitError   more records were put aside than the limit allows
│   ├── ConservationError      records in differ from records published and put aside
│   └── LayoutFaultError       a layout made rows that break the unified schema
├── AccessError            a source or destination is missing, unreachable, foreign or not allowed (exit 4)
│   ├── SourceMissingError
│   ├── ForeignDestinationError
│   ├── ShrinkError            a version would lose a split or rows
│   └── DestinationConflictError
└── StoreError             the store is damaged or can't be written (exit 4)

Messages are one readable paragraph: what is wrong, in which file, row and column, and what to do.
"""

from __future__ import annotations

from typing import ClassVar


class RollmillError(Exception):
    """Base of all errors that a user can act on.

    Attributes name what the message says in words: `file` as the source lists it, `row` 0-based in that file, `column`.
    """

    kind: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(
        self, message: str, *, file: str | None = None, row: int | None = None, column: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.row = row
        self.column = column

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the attributes when the error crosses a process."""
        return (_rebuild, (type(self), self.message, self.file, self.row, self.column))

    def as_report(self) -> dict[str, str | int | None]:
        """Give the `error` member of the JSON report."""
        return {"kind": self.kind, "message": self.message, "file": self.file, "row": self.row, "column": self.column}


def _rebuild(
    cls: type[RollmillError], message: str, file: str | None, row: int | None, column: str | None
) -> RollmillError:
    return cls(message, file=file, row=row, column=column)


class ConfigError(RollmillError):
    """The pipeline file or the command line is wrong."""

    kind = "config"
    exit_code = 2


class DataRefusedError(RollmillError):
    """The data may not be published as they are."""

    kind = "data_refused"
    exit_code = 3


class FileRefusedError(DataRefusedError):
    """One file can't be read or holds what it must not: truncated, an LFS pointer, HTML, changed while reading."""

    kind = "file_refused"


class LayoutError(DataRefusedError):
    """No layout fits the columns, or several do."""

    kind = "layout"


class NothingToReadError(DataRefusedError):
    """A source without a data file or without a record."""

    kind = "nothing_to_read"


class DriftError(DataRefusedError):
    """The data are not what the pipeline file claims or, with --strict-card, what is declared anywhere."""

    kind = "drift"


class QuarantineLimitError(DataRefusedError):
    """More records were put aside than the limit allows."""

    kind = "quarantine_limit"


class ConservationError(DataRefusedError):
    """Records read differ from records published, put aside and dropped by rule."""

    kind = "conservation"


class LayoutFaultError(DataRefusedError):
    """A layout made rows that break the unified schema: a fault of the layout, not of the data."""

    kind = "layout_fault"


class AccessError(RollmillError):
    """A source or destination is missing, unreachable, foreign or not allowed."""

    kind = "access"
    exit_code = 4


class SourceMissingError(AccessError):
    """The source is not there or can't be opened."""

    kind = "source_missing"


class ForeignDestinationError(AccessError):
    """The destination belongs to something else and is left untouched."""

    kind = "foreign_destination"


class ShrinkError(AccessError):
    """The new version would lose a split or rows against its parent."""

    kind = "shrink"


class DestinationConflictError(AccessError):
    """Another publisher moved the destination in between."""

    kind = "destination_conflict"


class StoreError(RollmillError):
    """The artifact store is damaged or can't be written."""

    kind = "store"
    exit_code = 4
