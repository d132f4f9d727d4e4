"""Files of users, written whole or not at all, whose owner, rights and kind stay as they are."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

_NO_OTHER = {errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS}  # the folder takes no other file, or keeps this one


def replace(path: Path, content: bytes) -> None:
    """Replace the content of a file, or of what a link leads to. Raises OSError, and leaves it as it was.

    The owner, the access rights and other names of the file stay. A new file is like any other that the user makes.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        _beside(Path(os.path.realpath(path)), content, None)
        return
    if not stat.S_ISREG(found.st_mode):  # a device or a pipe
        path.write_bytes(content)
        return
    path = Path(os.path.realpath(path))
    if not os.access(path, os.W_OK):  # a file beside would get around it
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    if found.st_nlink > 1:
        _in_place(path, content)
        return
    try:
        _beside(path, content, found)
    except OSError as error:
        if error.errno not in _NO_OTHER:
            raise
        _in_place(path, content)


def _beside(path: Path, content: bytes, found: os.stat_result | None) -> None:
    """Write the content to a file of another name that takes the place of `path`."""
    partial = path.with_name(f".hocket-{os.urandom(6).hex()}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if found is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if found is not None:
                os.fchown(file.fileno(), found.st_uid, found.st_gid)
                shutil.copystat(path, partial)  # its rights, and those that lists of access give
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error  # nobody knows the other name
    finally:
        partial.unlink(missing_ok=True)


def _in_place(path: Path, content: bytes) -> None:
    """Write the content over the file itself, once there is room; the old content comes back where that fails."""
    descriptor = os.open(path, os.O_RDWR)
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        before = file.read()
        try:
            os.posix_fallocate(descriptor, 0, max(len(content), 1))
            _write(descriptor, content)
        except OSError:
            with suppress(OSError):
                _write(descriptor, before)
            raise


def _write(descriptor: int, content: bytes) -> None:
    at = 0
    while at < len(content):
        at += os.pwrite(descriptor, content[at:], at)
    os.ftruncate(descriptor, len(content))
    os.fsync(descriptor)
