"""Protection of a process: no other process of its user reads, changes or traces its memory; it leaves no core dump."""

from __future__ import annotations

import ctypes
import fcntl
import os
from contextlib import suppress
from pathlib import Path

_DUMPABLE = 4  # of prctl
_LOCKS = Path("/proc/locks")


def close_daemon() -> None:
    """Close the memory of a daemon to others, which still find it by its command line and its folder."""
    mark_folder()
    close_memory()


def close_memory() -> None:
    """Close this process to all but root. Others cannot see its folder any more, either."""
    ctypes.CDLL(None).prctl(_DUMPABLE, 0, 0, 0, 0)


def mark_folder() -> None:
    """Mark this process's folder by a lock, for as long as it lives, so that others find out which one it is in."""
    with suppress(OSError):  # the folder is gone, or may not be read
        fcntl.flock(os.open(".", os.O_RDONLY | os.O_DIRECTORY), fcntl.LOCK_SH | fcntl.LOCK_NB)


def is_marked(folder: Path, pid: int) -> bool:
    """Tell whether the process has marked this folder, wherever it has been moved since."""
    try:
        inode, lines = str(folder.stat().st_ino), _LOCKS.read_text(encoding="ascii").splitlines()
    except OSError:
        return False
    return any(_is_by(line.split(), str(pid), inode) for line in lines)


def _is_by(words: list[str], pid: str, inode: str) -> bool:
    """Tell whether a line such as `1: FLOCK ADVISORY READ 4711 08:01:393219 0 EOF` is of this process and inode."""
    return words[1:2] == ["FLOCK"] and words[4] == pid and words[5].rpartition(":")[2] == inode
