"""Searching and weighing give way to the models, on which the pace of every stream hangs."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

NICE = 10  # about a tenth of a processor that is wanted elsewhere, all of one that is not
_GROUP = Path("/proc/self/autogroup")


def give_way() -> None:
    """Lower this process's priority, where that is allowed; before other threads are begun, which inherit it."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, max(NICE, os.getpriority(os.PRIO_PROCESS, 0)))
    if os.getsid(0) == os.getpid():  # Linux weighs whole sessions where it groups by them, and this one is ours
        with suppress(OSError):
            _GROUP.write_text(str(NICE), encoding="ascii")
