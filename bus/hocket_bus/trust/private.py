"""Folders, files and locks that belong to one user alone, whoever made them and with whatever umask."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..deadline import Deadline
from ..errors import BadConfiguration, Unavailable

CHANGE_S = 10.0  # to wait for whoever else changes a file
_PAUSE_S = 0.01
_OPENED = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def private_folder(folder: Path) -> None:
    """Make the folder, or close an existing one to other users. Raises BadConfiguration if it is not ours."""
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
    """Replace a file, or make it for this user alone: whole or not at all. Its owner and access mode stay.

    If several do so at once, the last one's text stays. Raises OSError.
    """
    with _beside(path, text) as partial:
        if path.exists():
            shutil.copymode(path, partial)
            found = path.stat()
            os.chown(partial, found.st_uid if os.geteuid() == 0 else -1, found.st_gid)
        partial.rename(path)


def write_new(path: Path, text: str) -> None:
    """Make a file for this user alone, whole or not at all. Raises FileExistsError if there is one, and OSError."""
    with _beside(path, text) as partial:
        os.link(partial, path)


@contextmanager
def _beside(path: Path, text: str) -> Iterator[Path]:
    """Yield a temporary file in the folder of `path`, with this text on the disk; it is removed at the end."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".partial", dir=path.parent)
    partial = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        yield partial
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def changing(path: Path) -> Iterator[None]:
    """Lock a file while it is read and written anew, so that no other change is lost between.

    A hidden file beside it is locked: the file itself is replaced, and daemons lock their folder. Raises Unavailable
    if it takes longer than CHANGE_S, and OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    flags = os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    held, deadline = os.open(path.with_name(f".{path.name}.lock"), flags, 0o644), Deadline.after(CHANGE_S)
    try:
        while not _locked(held):
            if deadline.passed:
                raise Unavailable(f"another program is changing {path}", "try again when it is done")
            time.sleep(_PAUSE_S)
        yield
    finally:
        os.close(held)


def _locked(file: int) -> bool:
    """Try to lock the open file until it is closed; tell whether that succeeded."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock(file: Path) -> IO[str]:
    """Lock `file`, which is empty, until the returned file is closed.

    Raises BadConfiguration if the name is that of another file, and BlockingIOError while another process holds it.
    """
    held = os.fdopen(_open(file), "r+")
    try:
        if os.fstat(held.fileno()).st_size:
            raise BadConfiguration(f"{file} is a file, not a lock", "move it away, or choose another place")
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        held.close()
        raise
    return held


def check_mode(path: Path, allowed: int) -> None:
    """Raise BadConfiguration if the file's mode gives others more access than the bits of `allowed`."""
    if path.stat().st_mode & 0o777 & ~allowed:
        raise BadConfiguration(f"others can read or change {path}", f"chmod {allowed:o} {path}")


def _open(file: Path) -> int:
    """Open a file without following a link. Nothing of an existing one changes, except that others lose access."""
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
