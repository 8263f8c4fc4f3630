"""The lines of a text file, plain or compressed, one at a time and in bounded memory."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import pyarrow as pa

from rollmill.errors import FileRefusedError
from rollmill.formats.sniff import UTF8_BOM, unreadable

LINE_CEILING = 256 << 20
"""A line of more bytes than this is put aside without being read whole."""

KEPT_OF_LONG_LINE = 1 << 20
"""Bytes kept of a line above the ceiling."""

_PIECE = 1 << 20
_NEWLINE = 0x0A
_TRUNCATED = "Truncated compressed stream"


class Line(NamedTuple):
    """A line that is not blank: its 1-based number, offset and size in (unpacked) bytes, and its bytes.

    A leading BOM is taken off; the line end is kept. A line above the ceiling has only its first bytes in `data`.
    """

    number: int
    offset: int
    size: int
    data: bytes | bytearray

    @property
    def whole(self) -> bool:
        """Whether `data` holds the line whole."""
        return self.size <= LINE_CEILING


class TextFile(AbstractContextManager["TextFile"]):
    """A file of text lines, unpacked on the fly; several gzip members or zstd frames are read as one text.

    Reading raises FileRefusedError for a truncated or damaged compressed stream, naming the file.
    """

    def __init__(self, path: Path, name: str, compression: str | None) -> None:
        self.name = name
        self.compression = compression
        self.bom_stripped = False
        self._size = 0
        try:
            self._raw = pa.OSFile(str(path), "rb")
            self._size = self._raw.size()
        except OSError as error:
            raise unreadable(name, error) from error
        unpacked = self._raw if compression is None else pa.CompressedInputStream(self._raw, compression)
        self._stream = io.BufferedReader(unpacked, _PIECE)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._stream.close()
        if not self._raw.closed:
            self._raw.close()

    def __enter__(self) -> Self:
        return self

    @property
    def bytes_read(self) -> int:
        """Bytes taken from the file so far, compressed ones where it is compressed."""
        return self._size if self._raw.closed else self._raw.tell()

    def head(self, size: int) -> bytes:
        """Give the first bytes of the (unpacked) text without moving on; call it before `lines`."""
        try:
            return self._stream.peek(size)[:size]
        except OSError as error:
            raise self._refusal(error) from error

    def lines(self) -> Iterator[Line]:
        r"""Iterate over the lines that are not blank; only \n ends a line."""
        offset = number = 0
        data: bytes | bytearray
        while data := self._piece():
            size = len(data)
            if size == _PIECE and data[-1] != _NEWLINE:
                size, data = self._long_line(data)
            number += 1
            if number == 1 and data.startswith(UTF8_BOM):
                data = data[len(UTF8_BOM) :]
                self.bom_stripped = True
            if data and not data.isspace():
                yield Line(number, offset, size, data)
            offset += size

    def _long_line(self, start: bytes) -> tuple[int, bytes | bytearray]:
        kept = bytearray(start)
        size = len(start)
        while piece := self._piece():
            size += len(piece)
            if size <= LINE_CEILING:
                kept += piece
            elif len(kept) > KEPT_OF_LONG_LINE:
                kept = kept[:KEPT_OF_LONG_LINE]
            if piece[-1] == _NEWLINE:
                break
        return size, kept

    def _piece(self) -> bytes:
        try:
            return self._stream.readline(_PIECE)
        except OSError as error:
            raise self._refusal(error) from error

    def _refusal(self, error: OSError) -> FileRefusedError:
        if self.compression is None:
            return unreadable(self.name, error)
        if _TRUNCATED in str(error):
            what = (
                f"is truncated: its {self.compression} stream ends too early, so an unknown number of rows is missing"
            )
        else:
            what = f"is damaged: its {self.compression} stream can't be unpacked ({error})"
        return FileRefusedError(f"{self.name} {what}. Download or export it again.", file=self.name)
