"""The stat index: sha256 of local files, hashed again only when size, mtime or inode changed."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rollmill.errors import FileRefusedError

_MARGIN_NS = 20_000_000
"""More than one tick of the kernel's clock (10 ms at 100 Hz): writes within one tick have the same mtime."""
_COARSE_MARGIN_NS = 2_000_000_000
"""For an mtime of whole seconds, as on file systems that keep no parts of a second."""
_SECOND_NS = 1_000_000_000
_TABLE = """
create table if not exists files (
  path text primary key, size integer not null, mtime_ns integer not null, inode integer not null,
  hashed_at_ns integer not null, sha256 text not null
) without rowid
"""
_LOOK_UP = "select sha256, hashed_at_ns from files where path = ? and size = ? and mtime_ns = ? and inode = ?"
_STORE = "insert or replace into files values (?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What tells without opening a file that it is unchanged: size in bytes, mtime in ns, inode."""

    size: int
    mtime_ns: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> Self:
        """Look at a file, links followed; raises OSError."""
        found = path.stat()
        return cls(found.st_size, found.st_mtime_ns, found.st_ino)


class StatIndex:
    """Digests of local files, kept in an SQLite file between runs.

    An entry is trusted if size, mtime and inode are the same and the file was not written around the time of hashing
    (a later write within one tick of the clock would leave the same mtime). Fresh files are waited for, at most 20 ms,
    so that the next run need not open them. Safe for several threads and processes. An index that is corrupt or can't
    be written costs only hashing. `bytes_hashed` counts the bytes read by this object.
    """

    def __init__(self, path: Path) -> None:
        self.bytes_hashed = 0
        self._path = path
        self._lock = threading.Lock()
        self._connection = _connect(path)

    def digest(self, path: Path) -> str:
        """Give the sha256 of a file, 64 hex characters.

        Raises FileRefusedError for a file that can't be read, or changes while it is read (after one more try).
        """
        path = path.absolute()
        for _ in range(2):
            before = self._fingerprint(path)
            known = self._look_up(path, before)
            if known is not None:
                return known
            hashed_at = _settled_now(before.mtime_ns)
            sha256 = self._hash(path)
            if self._fingerprint(path) == before:
                self._store(path, before, hashed_at, sha256)
                return sha256
        raise _changed(str(path))

    def peek(self, path: Path) -> str | None:
        """Give the sha256 of a file that is unchanged since it was hashed, without ever opening it; else None."""
        path = path.absolute()
        return self._look_up(path, self._fingerprint(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the index."""
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the index; `digest` goes on without it."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _fingerprint(self, path: Path) -> Fingerprint:
        try:
            return Fingerprint.of(path)
        except OSError as error:
            raise _unreadable(path, error) from error

    def _hash(self, path: Path) -> str:
        try:
            with path.open("rb", buffering=0) as file:
                digest = hashlib.file_digest(file, "sha256")
                size = file.tell()
        except OSError as error:
            raise _unreadable(path, error) from error
        with self._lock:
            self.bytes_hashed += size
        return digest.hexdigest()

    def _look_up(self, path: Path, seen: Fingerprint) -> str | None:
        with self._lock, suppress(sqlite3.Error, UnicodeEncodeError):
            if self._connection is not None:
                values = (str(path), seen.size, seen.mtime_ns, seen.inode)
                row = self._connection.execute(_LOOK_UP, values).fetchone()
                if row is not None and _is_settled(seen.mtime_ns, row[1]):
                    return str(row[0])
        return None

    def _store(self, path: Path, seen: Fingerprint, hashed_at_ns: int, sha256: str) -> None:
        with self._lock, suppress(sqlite3.Error, UnicodeEncodeError):
            if self._connection is not None:
                values = (str(path), seen.size, seen.mtime_ns, seen.inode, hashed_at_ns, sha256)
                self._connection.execute(_STORE, values)


def _connect(path: Path) -> sqlite3.Connection | None:
    """Open the index; a corrupt one is replaced, and without a place to write there is none."""
    for _ in range(2):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
            connection.execute("pragma synchronous = off")
            connection.execute(_TABLE)
            connection.execute(_LOOK_UP, ("", 0, 0, 0))
        except sqlite3.OperationalError:
            return _read_only(path)
        except sqlite3.DatabaseError:
            with suppress(OSError):
                path.unlink()
        except OSError:
            return None
        else:
            return connection
    return None


def _read_only(path: Path) -> sqlite3.Connection | None:
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        connection.execute(_LOOK_UP, ("", 0, 0, 0))
    except sqlite3.Error:
        return None
    return connection


def _is_settled(mtime_ns: int, at_ns: int) -> bool:
    margin = _MARGIN_NS if mtime_ns % _SECOND_NS else _COARSE_MARGIN_NS
    return abs(at_ns - mtime_ns) > margin


def _settled_now(mtime_ns: int) -> int:
    """Give the time, waiting for the end of the tick in which a fresh file was written."""
    now = time.time_ns()
    if abs(now - mtime_ns) <= _MARGIN_NS:
        time.sleep((_MARGIN_NS + max(0, mtime_ns - now)) / _SECOND_NS + 0.001)
        now = time.time_ns()
    return now


def _unreadable(path: Path, error: OSError) -> FileRefusedError:
    if isinstance(error, FileNotFoundError):
        return _changed(str(path))
    why = error.strerror or str(error)
    return FileRefusedError(f"{path} can't be read ({why}). Check the file and its permissions.", file=str(path))


def _changed(name: str) -> FileRefusedError:
    return FileRefusedError(
        f"{name} was changed while reading. Run again when nothing writes to it.",
        file=name,
    )
