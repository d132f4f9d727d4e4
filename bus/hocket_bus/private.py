"""Folders, files and locks that belong to one user alone, whoever made them and with whatever mask."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from pathlib import Path
from typing import IO

from .errors import BadConfiguration

_OPENED = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def private_folder(folder: Path) -> None:
    """Make the folder, or close the one that is there to others. Raises BadConfiguration where it is not ours."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.stat()
        if found.st_uid != os.geteuid():
            raise BadConfiguration(f"{folder} belongs to another user", "choose a folder of your own")
        if stat.S_IMODE(found.st_mode) != 0o700:
            folder.chmod(0o700)
    except OSError as error:
        raise BadConfiguration(f"{folder}: {error.strerror}", "choose a folder that can be written") from error


def keep_private(file: Path) -> None:
    """Make an empty file for its owner alone, or close one that is ours to others. Raises BadConfiguration."""
    os.close(_open(file))


def write_whole(path: Path, text: str) -> None:
    """Replace a file, or make it for this user alone: whole or not at all. Whose it is, and who may read it, stays."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            if path.exists():
                shutil.copymode(path, partial)
                found = path.stat()
                os.fchown(file.fileno(), found.st_uid if os.geteuid() == 0 else -1, found.st_gid)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def lock(file: Path) -> IO[str]:
    """Hold a lock file, which is empty, until what comes back is closed.

    Raises BadConfiguration where the name is that of another file, and BlockingIOError while another process holds it.
    """
    held = os.fdopen(_open(file), "r+")
    try:
        if os.fstat(held.fileno()).st_size:
            raise BadConfiguration(f"{file} is a file, and no lock", "move it away, or choose another place")
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        held.close()
        raise
    return held


def check_mode(path: Path, allowed: int) -> None:
    """Raises BadConfiguration where others than the bits of `allowed` say can read or change the file."""
    if path.stat().st_mode & 0o777 & ~allowed:
        raise BadConfiguration(f"others can read or change {path}", f"chmod {allowed:o} {path}")


def _open(file: Path) -> int:
    """Neither follows a link nor changes what is there, but for who may read it."""
    try:
        opened = os.open(file, _OPENED, 0o600)
    except OSError as error:
        raise BadConfiguration(f"{file}: {error.strerror}", "choose another place") from error
    found = os.fstat(opened)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(opened)
        raise BadConfiguration(f"{file} is not a file of this user", "move it away, or choose another place")
    if stat.S_IMODE(found.st_mode) & 0o077:
        os.fchmod(opened, 0o600)
    return opened
