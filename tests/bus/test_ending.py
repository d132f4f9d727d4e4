"""Laws of the end of a daemon: it comes after a signal, whatever holds the process up."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from hocket_bus import ending
from processes import guarded
from waiting import WAIT_S

PROGRAM = """
import ctypes, os, signal, sys, threading, time
from hocket_bus import ending
from hocket_bus.ending import Ending

ending.END_S = 0.3
this = Ending()
taken = threading.Event()
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda *_: taken.set())
print("here", flush=True)
{}
"""
HELD_UP = {
    "native code on the main thread": "libc = ctypes.CDLL(None)\nwhile True: libc.sleep(1000)",
    "a loop on the main thread": "while True: pass",
    "a thread that is waited for at the end": (
        "taken.wait()\nthis.by(time.monotonic())\nthreading.Thread(target=threading.Event().wait).start()"
    ),
    "a close that does not return": "taken.wait()\nthis.by(time.monotonic())\nthreading.Event().wait()",
}


def ended(does: str, *numbers: int) -> int:
    """The exit status of a process that does that, and gets these signals."""
    command = [sys.executable, "-c", PROGRAM.format(does)]
    with guarded(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)) as process:
        assert process.stdout
        assert process.stdout.readline() == "here\n"
        for number in numbers:
            process.send_signal(number)
        return process.wait(WAIT_S)


@pytest.mark.parametrize("held_up", HELD_UP)
def test_an_end_that_does_not_come_is_forced(held_up: str) -> None:
    """The main thread need not come to the signal."""
    assert ended(HELD_UP[held_up], signal.SIGTERM) == ending.FORCED


def test_what_is_in_work_has_the_time_that_it_is_given() -> None:
    """Who has taken the signal names the moment; what ends before it ends as it would without this."""
    work = "taken.wait()\nthis.by(time.monotonic() + 3600)\ntime.sleep(5 * ending.END_S)\nraise SystemExit(7)"
    assert ended(work, signal.SIGTERM) == 7


def test_a_signal_that_ends_nothing_ends_nothing() -> None:
    """A reload takes as long as it takes."""
    assert ended("taken.wait()\ntime.sleep(5 * ending.END_S)\nraise SystemExit(7)", signal.SIGHUP) == 7
