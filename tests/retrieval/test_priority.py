"""A retrieval daemon's place behind the models, in its own session and in somebody else's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

GROUP = Path("/proc/self/autogroup")
SCRIPT = """
import os
from pathlib import Path
from hocket_retrieval.priority import give_way
group = Path("/proc/self/autogroup")
give_way()
print(os.getpriority(os.PRIO_PROCESS, 0), group.read_text().split()[-1] if group.exists() else "none")
"""


def given(*, own_session: bool) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        start_new_session=own_session,
    )
    return done.stdout.split()


def test_a_process_lowers_itself_and_the_session_that_is_its_own() -> None:
    """Threads begun afterwards inherit the first; the second counts where the kernel groups by sessions."""
    nice, group = given(own_session=True)
    assert int(nice) >= 10
    assert group in ("10", "none")


@pytest.mark.skipif(not GROUP.exists(), reason="this kernel does not group processes by session")
def test_a_terminal_that_runs_other_things_too_keeps_its_weight() -> None:
    """Only the process itself gives way in a session that it shares."""
    before = GROUP.read_text(encoding="ascii").split()[-1]
    nice, group = given(own_session=False)
    assert int(nice) >= 10
    assert group == before
