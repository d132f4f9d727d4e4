"""Lower priority for searching and weighing than for the models, which set the pace of every stream."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

NICE = 10  # about a tenth of a processor that is wanted elsewhere, all of one that is not
_TASKS = Path("/proc/self/task")
_GROUP = Path("/proc/self/autogroup")


def give_way() -> None:
    """Lower the priority of this process's threads, where that is allowed; those to come inherit it."""
    for thread in [int(task.name) for task in _TASKS.glob("*")] or [0]:
        with suppress(OSError):  # a thread may be gone
            os.setpriority(os.PRIO_PROCESS, thread, max(NICE, os.getpriority(os.PRIO_PROCESS, thread)))
    if os.getsid(0) == os.getpid():  # Linux weighs whole sessions where it groups by them, and this one is ours
        with suppress(OSError):
            _GROUP.write_text(str(NICE), encoding="ascii")
