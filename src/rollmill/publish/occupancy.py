"""What is at the path of a folder destination: nothing, ours, or something that must not be touched."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from rollmill.errors import AccessError, ForeignDestinationError
from rollmill.publish.current import Current, NewerFormatError, NotOursError, read_format

CURRENT: Final = "current.json"
README: Final = "README.md"
MARKER: Final = ".rollmill"
LOCK: Final = ".rollmill.lock"
SCRATCH: Final = ".rollmill.tmp"
DAMAGED: Final = ".rollmill.damaged"

_NO_CONTENT: Final = {LOCK, SCRATCH, ".DS_Store", "Thumbs.db", "desktop.ini", "lost+found"}
_SHOWN: Final = 5


def read_current(root: Path) -> Current | None:
    """Read `current.json` of a destination. None if there is no version yet and a first one may be published there.

    ForeignDestinationError if the path is a file, or a folder with content that is not ours; AccessError if it can't be
    read, was made by a newer Rollmill, or has lost its `current.json`.
    """
    try:
        if not root.exists():
            return None
        if not root.is_dir():
            raise ForeignDestinationError(f"The destination {root} is a file, not a folder. Nothing was touched.")
        data = _read_if_there(root / CURRENT)
        if data is not None:
            return Current.from_json(data)
        _check_vacant(root)
    except OSError as error:
        raise AccessError(
            f"The destination {root} can't be read: {error.strerror or error}.", file=str(root)
        ) from error
    except NewerFormatError as error:
        raise AccessError(f"{root / CURRENT} can't be used: {error}. Update Rollmill.", file=CURRENT) from error
    except NotOursError as error:
        raise _foreign(root, f"holds a {CURRENT} that Rollmill did not write ({error})") from error
    return None


def owner(root: Path, current: Current | None) -> str | None:
    """Name the pipeline a destination belongs to, also before its first version is committed. None if to nobody."""
    if current is not None:
        return current.pipeline
    data = _read_if_there(root / MARKER)
    return None if data is None else str(read_format(data)["pipeline"])


def check_owner(root: Path, current: Current | None, pipeline: str) -> None:
    """Refuse another pipeline's destination: ForeignDestinationError naming both."""
    claimed = owner(root, current)
    if claimed not in {None, pipeline}:
        raise ForeignDestinationError(
            f"The destination {root} belongs to the pipeline {claimed!r}, and this is {pipeline!r}. "
            "Nothing was touched. Choose another destination, or give the pipeline the name it had."
        )


def check_writable(root: Path) -> None:
    """Refuse a destination this process may not write: AccessError."""
    place = root
    while not place.exists() and place != place.parent:
        place = place.parent
    if not os.access(place, os.W_OK | os.X_OK):
        raise AccessError(f"The destination {root} can't be written: no permission at {place}.", file=str(root))


def _check_vacant(root: Path) -> None:
    names = sorted(entry.name for entry in root.iterdir() if entry.name not in _NO_CONTENT)
    if not names:
        return
    if MARKER not in names:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        shown = ", ".join(repr(name) for name in names[:_SHOWN])
        raise _foreign(root, f"holds {shown}{more} and no {CURRENT}")
    try:
        read_format((root / MARKER).read_bytes())["pipeline"]
    except KeyError as error:
        raise NotOursError(f"its {MARKER} names no pipeline") from error
    numbers = [re.match(r"\d+", path.name) for path in (root / "versions").glob("*-*")]
    latest = max((int(number[0]) for number in numbers if number), default=0)
    if latest > 1:
        raise AccessError(
            f"The destination {root} has {latest} versions and no {CURRENT}: it was deleted. "
            "Bring it back from a backup, or publish elsewhere. Nothing was touched.",
            file=CURRENT,
        )


def _read_if_there(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _foreign(root: Path, why: str) -> ForeignDestinationError:
    return ForeignDestinationError(
        f"The destination {root} is not Rollmill's: it {why}. Nothing was touched. Give an empty or new folder."
    )
