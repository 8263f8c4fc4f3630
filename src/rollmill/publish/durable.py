"""Writes that are whole or absent, also after a power cut: temporary file, fsync, rename, fsync of the folder.

Data files are copied, never hard-linked: a link would share its bytes with the store, and someone who edits or
truncates a file at the destination would silently damage the store and every other destination. The copy is made by
`copy_file_range`, so that file systems with reflinks (btrfs, XFS) share the blocks until one side is written.
"""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from rollmill.errors import AccessError, StoreError

_CHUNK: Final = 1 << 28
_COPY_ELSEWISE: Final = {errno.EXDEV, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EPERM}


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError into an AccessError that names the path and why."""
    try:
        yield
    except OSError as error:
        why = "the disk is full" if error.errno in {errno.ENOSPC, errno.EDQUOT} else error.strerror or str(error)
        message = f"The destination {path} can't be written: {why}. The published version is unchanged."
        raise AccessError(message, file=str(path)) from error


def write_atomic(target: Path, data: bytes, scratch: Path) -> None:
    """Replace `target` by `data`: readers see the old bytes or the new, whole. `scratch` is on the same file system."""
    with writing(target), _temporary(scratch) as (temporary, out):
        out.write(data)
        _settle(out, temporary, target)
        sync_folder(target.parent)


def copy_in(source: Path, target: Path, size: int, scratch: Path) -> None:
    """Copy a store's file of `size` bytes to `target`, whole or not at all. The caller syncs the folder.

    StoreError if the source is missing or of another size; AccessError if the target can't be written.
    """
    try:
        opened = source.open("rb")
    except OSError as error:
        raise StoreError(f"The store's file {source} can't be read: {error.strerror}.", file=str(source)) from error
    with opened:
        found = os.fstat(opened.fileno()).st_size
        if found != size:
            raise StoreError(f"The store's file {source} has {found:,} bytes, not {size:,}: damaged.", file=str(source))
        with writing(target), _temporary(scratch) as (temporary, out):
            _copy_bytes(opened, out, size)
            _settle(out, temporary, target)


def make_folder(path: Path) -> None:
    """Create a folder and its parents, durably."""
    with writing(path):
        missing = []
        while not path.is_dir():
            missing.append(path)
            path = path.parent
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)
            sync_folder(folder.parent)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable. Windows can't and need not."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _temporary(scratch: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    scratch.mkdir(exist_ok=True)
    temporary = scratch / uuid.uuid4().hex
    try:
        with temporary.open("xb") as out:
            yield temporary, out
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _settle(out: IO[bytes], temporary: Path, target: Path) -> None:
    out.flush()
    os.fsync(out.fileno())
    out.close()
    temporary.replace(target)


def _copy_bytes(source: IO[bytes], out: IO[bytes], size: int) -> None:
    copied = 0
    try:
        while hasattr(os, "copy_file_range") and copied < size:
            step = os.copy_file_range(source.fileno(), out.fileno(), min(_CHUNK, size - copied))
            if step == 0:
                break
            copied += step
    except OSError as error:
        if error.errno not in _COPY_ELSEWISE:
            raise
    source.seek(copied)
    out.seek(copied)
    shutil.copyfileobj(source, out, 1 << 20)
    if out.tell() != size:
        raise OSError(errno.EIO, f"{out.tell():,} of {size:,} bytes arrived")
