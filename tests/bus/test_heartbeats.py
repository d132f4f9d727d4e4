"""Why there are no ZMTP heartbeats here: they end the process of a reader that stalled (libzmq issue 3937)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "stall.py"


def stalled(options: str) -> subprocess.CompletedProcess[str]:
    """The program's end; it may end by a signal."""
    return subprocess.run(
        [sys.executable, str(PROGRAM), options], capture_output=True, text=True, timeout=100, check=False
    )


@pytest.mark.xfail(strict=True, reason="libzmq 3937: when this passes, libzmq has been mended")
def test_heartbeats_and_a_bounded_queue_outlive_a_stall() -> None:
    """They do not, up to libzmq 4.3.5."""
    assert stalled("trap").stdout == "alive\n"


def test_the_options_of_our_links_outlive_a_stall() -> None:
    """The same stalls, the same flood."""
    assert stalled("ours").stdout == "alive\n"
