"""Traps of libzmq 4.3.5 that end the process or lose messages, and that our options avoid them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from processes import with_helpers
from waiting import WAIT_S


def printed(program: str, *given: str) -> str:
    """What the program prints; nothing when it is ended by a signal."""
    arguments = [sys.executable, str(Path(__file__).parents[1] / program), *given]
    return subprocess.run(
        arguments, capture_output=True, text=True, timeout=WAIT_S, env=with_helpers(), check=False
    ).stdout


@pytest.mark.xfail(strict=True, reason="libzmq 3937: when this passes, libzmq has been mended")
def test_heartbeats_and_a_bounded_queue_outlive_a_stall() -> None:
    """They do not, up to libzmq 4.3.5."""
    assert printed("stall.py", "trap", "8") == "alive\n"


@pytest.mark.parametrize("stalls", ["2", pytest.param("8", marks=pytest.mark.long)])
def test_the_options_of_our_links_outlive_a_stall(stalls: str) -> None:
    """The same stalls, the same flood; with the trap's options the first stall is the last."""
    assert printed("stall.py", "ours", stalls) == "alive\n"


@pytest.mark.xfail(strict=True, reason="with IMMEDIATE, libzmq drops what has arrived when the other end hangs up")
def test_immediate_sockets_hear_an_end_out() -> None:
    """They do not, up to libzmq 4.3.5; between two parts of a message it even ends the process."""
    assert printed("hangup.py", "1") == "500\n"


def test_our_sockets_hear_an_end_out() -> None:
    """All 500 messages, whenever the other end hangs up; test_sockets.py has the same law of our links."""
    assert printed("hangup.py", "0") == "500\n"


def test_our_sockets_close_while_events_come() -> None:
    """Three hundred of them, each within its attempts to connect; another connection goes on."""
    assert printed("monitored.py") == "alive\n"
