"""Whose turn comes first in a daemon: the bus's, in real time where the system allows it, and nobody else's."""

from __future__ import annotations

import subprocess
import sys

import pytest

from waiting import WAIT_S

PROCESS = """
import os, sys, threading
from pathlib import Path
import zmq
from hocket_daemon.roles.priority import come_first, may_come_first

def policies():
    for thread in Path("/proc/self/task").iterdir():
        name = (thread / "comm").read_text().strip()
        real_time = os.sched_getscheduler(int(thread.name)) & ~os.SCHED_RESET_ON_FORK == os.SCHED_RR
        yield ("main" if int(thread.name) == os.getpid() else name if "ZMQ" in name else "other"), real_time

open_end = threading.Event()
before = threading.Thread(target=open_end.wait)
before.start()
with zmq.Context() as context, context.socket(zmq.PAIR) as here, context.socket(zmq.PAIR) as there:
    there.connect(f"tcp://127.0.0.1:{here.bind_to_random_port('tcp://127.0.0.1')}")
    there.send(b"")
    here.recv()  # the I/O thread has carried it, so it has given itself its name
    if sys.argv[1:] == ["refused"]:
        def refuse(*_):
            raise PermissionError
        os.sched_setscheduler = refuse
    allowed = may_come_first()
    print(come_first() == allowed, allowed)
    after = threading.Thread(target=open_end.wait)
    after.start()
    print(sorted(name for name, real_time in policies() if real_time))
    open_end.set()
"""


def asked(*arguments: str) -> list[str]:
    command = [sys.executable, "-c", PROCESS, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=WAIT_S).stdout.splitlines()


def test_the_bus_runs_in_real_time_and_no_other_thread_does() -> None:
    """Neither the threads that were there, as the compute thread is, nor those begun afterwards."""
    done, real_time = asked()
    if done == "True False":
        pytest.skip("this system allows nobody real time")
    assert (done, real_time) == ("True True", "['ZMQbg/IO/0', 'main']")


def test_where_it_is_refused_everything_stays_as_it_was() -> None:
    """No error, and a daemon that runs as others do."""
    assert asked("refused") == ["True False", "[]"]
