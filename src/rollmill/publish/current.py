"""What a destination says of itself: `current.json` (which version is current) and the result of a publish."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Final

from rollmill.keys import canonical_json

DESTINATION_FORMAT: Final = "rollmill-destination@1"
_FORMAT_NAME: Final = DESTINATION_FORMAT.partition("@")[0]


class NotOursError(ValueError):
    """The bytes are not of Rollmill."""


class NewerFormatError(ValueError):
    """The bytes are of a Rollmill newer than this one."""


@dataclass(frozen=True, slots=True)
class Current:
    """The content of `current.json`.

    `manifest` is the path of the version's manifest in the destination; `readme_sha256` is of the README.md as
    written; `parent` is the digest of the version published before. `history` holds (number, digest) of every
    committed version, oldest first, later ones included after a rollback: a number is never given twice.
    """

    pipeline: str
    number: int
    digest: str
    manifest: str
    readme_sha256: str
    parent: str | None
    history: tuple[tuple[int, str], ...]

    @property
    def next_number(self) -> int:
        """The number of the next version."""
        return max(number for number, _ in self.history) + 1

    def to_json(self) -> bytes:
        """Encode as canonical JSON."""
        return canonical_json({"format": DESTINATION_FORMAT, **asdict(self)})

    @classmethod
    def from_json(cls, data: bytes) -> Current:
        """Decode `to_json`. NotOursError or NewerFormatError, both ValueError."""
        value = read_format(data)
        try:
            history = tuple((int(number), str(digest)) for number, digest in value.pop("history"))
            current = cls(**value, history=history)
        except (KeyError, TypeError, ValueError) as error:
            raise NotOursError(str(error)) from error
        if (current.number, current.digest) not in history:
            raise NotOursError("its version is not in its history")
        if current.manifest != f"{version_folder(current.number, current.digest)}/manifest.json":
            raise NotOursError("its manifest is not that of its version")
        return current


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a publish did: the version that is current now, and what was written (bytes of data files)."""

    number: int
    digest: str
    unchanged: bool
    files_written: int
    bytes_written: int


def version_folder(number: int, digest: str) -> str:
    """Name the folder of a version in the destination."""
    return f"versions/{number}-{digest[:12]}"


def marker_json(pipeline: str) -> bytes:
    """Encode the marker that claims a destination for a pipeline before its first version is committed."""
    return canonical_json({"format": DESTINATION_FORMAT, "pipeline": pipeline})


def read_format(data: bytes) -> dict[str, Any]:
    """Decode a JSON object of this format and take the format off it. NotOursError or NewerFormatError."""
    try:
        value = json.loads(data)
        name, _, number = value.pop("format").partition("@")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotOursError("it is not JSON of Rollmill") from error
    if name != _FORMAT_NAME:
        raise NotOursError(f"its format is {name!r}")
    if f"{name}@{number}" != DESTINATION_FORMAT:
        raise NewerFormatError(f"its format is {name}@{number}, and this Rollmill knows {DESTINATION_FORMAT}")
    return dict(value)
