"""What a file is, from its first bytes; the content decides over the name's ending."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple, NoReturn

from rollmill.errors import FileRefusedError
from rollmill.formats.endings import FORMATS_READ, split_ending

PARQUET_MAGIC = b"PAR1"
PARQUET_ENCRYPTED_MAGIC = b"PARE"
UTF8_BOM = b"\xef\xbb\xbf"

_HEAD_BYTES = 4096
_COMPRESSIONS = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"))
_ZSTD_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
_ENDING_COMPRESSION = {".gz": "gzip", ".zst": "zstd"}
_NOT_READ = (
    (b"ARROW1", "an Arrow IPC (Feather) file"),
    (b"\xff\xff\xff\xff", "an Arrow IPC stream"),
    (b"\xfd7zXZ\x00", "compressed with xz"),
    (b"BZh", "compressed with bzip2"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\xff\xfe", "text in UTF-16, not UTF-8"),
    (b"\xfe\xff", "text in UTF-16, not UTF-8"),
)
_LFS = b"version https://git-lfs"
_MARKUP = ((b"<!doctype html", "HTML"), (b"<html", "HTML"), (b"<?xml", "XML"))


class Sniffed(NamedTuple):
    """A file's format by content: `format` is parquet or jsonl, `compression` gzip, zstd or None.

    `as_named` is False when the name's ending promises something else.
    """

    format: str
    compression: str | None
    as_named: bool


def sniff(path: Path, name: str) -> Sniffed:
    """Tell a file's format by its first bytes.

    Raises FileRefusedError for what is no data (an LFS pointer, an HTML page, an empty parquet or gzip file) and for
    formats that are not read. A zero-byte file with a plain JSON ending is a file without records.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise unreadable(name, error) from error
    return sniff_head(head, name)


def sniff_head(head: bytes, name: str) -> Sniffed:
    """Do as `sniff`, from a file's first bytes (4 KiB, or all of a shorter file)."""
    named = _named(name)
    if not head and named != ("jsonl", None):
        _refuse_empty(name, named)
    if head.startswith(PARQUET_ENCRYPTED_MAGIC):
        _refuse(name, "is an encrypted Parquet file (magic bytes PARE)", "Decrypt it first")
    if head.startswith(PARQUET_MAGIC):
        return Sniffed("parquet", None, named[0] == "parquet")
    compression = next((kind for magic, kind in _COMPRESSIONS if head.startswith(magic)), None)
    if compression is None and _ZSTD_SKIPPABLE.match(head):
        compression = "zstd"
    if compression is not None:
        return Sniffed("jsonl", compression, named == ("jsonl", compression))
    refuse_non_data(head, name)
    if named[0] == "parquet" and not head.removeprefix(UTF8_BOM).lstrip().startswith(b"{"):
        _refuse(
            name,
            "is not a Parquet file: it does not start with the bytes PAR1, so it is damaged or something else",
            "Download or export it again, or give it the ending of its format",
        )
    return Sniffed("jsonl", None, named == ("jsonl", None))


def refuse_non_data(head: bytes, name: str, *, inside: str = "") -> None:
    """Refuse content that is known to be no text of records; `inside` names the compression around it."""
    what = f"{inside} around " if inside else ""
    if head.startswith(_LFS):
        _refuse_pointer(head, name)
    text = head.removeprefix(UTF8_BOM).lstrip().lower()
    for mark, kind in _MARKUP:
        if text.startswith(mark):
            _refuse(
                name,
                f"is {what}an {kind} page, not data: most likely the answer of a web server that wanted a login or"
                " reported an error",
                "Download it again and check the address and your access",
            )
    if inside and head.startswith((PARQUET_MAGIC, PARQUET_ENCRYPTED_MAGIC)):
        _refuse(name, f"is {what}a Parquet file", "Unpack it: Parquet compresses by itself")
    for magic, kind in _NOT_READ:
        if head.startswith(magic):
            _refuse(name, f"is {what}{kind}", f"Convert it; read are {FORMATS_READ}")


def unreadable(name: str, error: OSError) -> FileRefusedError:
    """Give the refusal of a file that the system does not let us read."""
    why = error.strerror or str(error)
    return FileRefusedError(
        f"{name} can't be read ({why}). Check the file and its permissions, then run again.", file=name
    )


def _named(name: str) -> tuple[str, str | None]:
    found = split_ending(name)
    if found is None or not found.readable:
        return "", None
    if found.ending == ".parquet":
        return "parquet", None
    return "jsonl", next((kind for end, kind in _ENDING_COMPRESSION.items() if found.ending.endswith(end)), None)


def _refuse_empty(name: str, named: tuple[str, str | None]) -> NoReturn:
    promised = named[1] or named[0] or "data"
    _refuse(
        name,
        f"is empty (0 bytes), and a {promised} file has at least a header: it is truncated",
        "Download or export it again",
    )


def _refuse_pointer(head: bytes, name: str) -> NoReturn:
    oid = re.search(rb"oid ([a-z0-9]+:[0-9a-f]+)", head)
    size = re.search(rb"size (\d+)", head)
    of = ", ".join(
        f"{label} {found.group(1).decode()}" for label, found in (("oid", oid), ("size", size)) if found is not None
    )
    _refuse(
        name,
        f"is a Git LFS pointer ({of or 'without oid and size'}), a small text that stands for the data",
        "Fetch the data with `git lfs pull`, or name the Hub dataset itself as the source",
    )


def _refuse(name: str, what: str, advice: str) -> NoReturn:
    raise FileRefusedError(f"{name} {what}. {advice}.", file=name)
