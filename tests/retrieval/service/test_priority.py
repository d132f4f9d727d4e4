"""A retrieval daemon's place behind the models, in its own session and in somebody else's."""

from __future__ import annotations

import subprocess
import sys

from waiting import WAIT_S

PROCESS = """
import os, threading
from pathlib import Path
from hocket_retrieval.service.priority import give_way
before = threading.Thread(target=threading.Event().wait, daemon=True)
before.start()
give_way()
group = Path("/proc/self/autogroup")
words = group.read_text().split() if group.exists() else []
print(min(os.getpriority(os.PRIO_PROCESS, each) for each in (0, before.native_id)), words[-1] if words else "none")
"""
TERMINAL = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]], check=True)"


def given(*program: str) -> tuple[int, str]:
    """The process's own nice value and its session's, "none" where the kernel does not weigh sessions."""
    done = subprocess.run(
        [sys.executable, "-c", *program],
        capture_output=True,
        text=True,
        check=True,
        timeout=WAIT_S,
        start_new_session=True,
    )
    nice, group = done.stdout.split()
    return int(nice), group


def test_a_process_lowers_itself_and_the_session_that_is_its_own() -> None:
    """Its threads, too, whenever they were begun; the second counts where the kernel groups by sessions."""
    nice, group = given(PROCESS)
    assert nice >= 10
    assert group in ("10", "none")


def test_a_terminal_that_runs_other_things_too_keeps_its_weight() -> None:
    """Only the process itself gives way in a session that it shares."""
    nice, group = given(TERMINAL, PROCESS)
    assert nice >= 10
    assert group in ("0", "none")
