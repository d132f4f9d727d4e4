"""Daemons as processes: started detached, noted by pid and start time, stopped with a deadline."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hocket_bus.deadline import Deadline
from hocket_tools.pair.home import Home

KEPT_LOG_BYTES = 4 * 2**20
POLL_S = 0.05
COMPLAINT = "hocket: "  # how the command line begins its line of an error
END_S = 5.0
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def start(home: Home, name: str) -> int:
    """Start the daemon `name` detached from this terminal, its output in its log; returns the pid."""
    log = home.log(name)
    if log.exists() and log.stat().st_size > KEPT_LOG_BYTES:
        log.replace(log.with_suffix(".log.old"))
    command = "retrieval" if name.endswith("-retrieval") else name
    arguments = [sys.executable, "-P", "-m", "hocket_tools.main", command, "--config", str(home.config(name))]
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), append, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    environment = dict(os.environ) | {"HOCKET_HOME": str(home.at), "TOKENIZERS_PARALLELISM": "false"}
    with uninterrupted():
        pid = os.posix_spawn(sys.executable, arguments, environment, file_actions=actions, setsid=True)
        try:
            home.pid(name).write_text(f"{pid} {_started(pid)}\n", encoding="utf-8")
        except OSError:  # a daemon that nobody could stop
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
    return pid


def running(home: Home, name: str) -> int | None:
    """The pid of the daemon `name`, or None. A pid that another program has taken meanwhile does not count."""
    try:
        pid, started = home.pid(name).read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return None
    return int(pid) if started and _started(int(pid)) == started else None


def exit_status(pid: int) -> int | None:
    """The exit status of a child that has ended; None for others."""
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return None
    return os.waitstatus_to_exitcode(status) if ended else None


def stop(home: Home, names: list[str], wait_s: float = 10.0) -> list[str]:
    """Stop daemons; returns the names of those that had to be killed.

    The first SIGTERM lets requests in work go on for `wait_s`, the second ends them with a reason. Retrieval daemons go
    last: until then those requests search.
    """
    last = [name for name in names if name.endswith("-retrieval")]
    return _stop(home, [name for name in names if name not in last], wait_s) + _stop(home, last, wait_s)


def _stop(home: Home, names: list[str], wait_s: float) -> list[str]:
    pids = {name: pid for name in names if (pid := running(home, name)) is not None}
    left = list(pids)
    for number, grace_s in ((signal.SIGTERM, wait_s), (signal.SIGTERM, END_S)):
        for name in left:
            _signal(pids[name], number)
        left = _wait_gone(home, left, Deadline.after(grace_s))
    for name in left:
        _signal(pids[name], signal.SIGKILL)
    _wait_gone(home, left, Deadline.after(END_S))
    for name in names:
        home.pid(name).unlink(missing_ok=True)
    return left


def last_lines(log: Path, count: int = 8) -> list[str]:
    """The end of a log file."""
    try:
        with log.open(encoding="utf-8", errors="replace") as lines:
            return [line.rstrip() for line in deque(lines, maxlen=count)]
    except OSError:
        return []


def last_error(home: Home, name: str) -> str:
    """What a daemon ended with, by the last line of its log; empty where that is no error of its own."""
    said = "".join(last_lines(home.log(name), 1))
    return said.removeprefix(COMPLAINT) if said.startswith(COMPLAINT) else ""


def _wait_gone(home: Home, names: list[str], deadline: Deadline) -> list[str]:
    """Those of `names` that still run at the deadline."""
    left = names
    while left := [name for name in left if (pid := running(home, name)) is not None and exit_status(pid) is None]:
        if deadline.passed:
            break
        time.sleep(POLL_S)
    return left


def _started(pid: int) -> str:
    """When a process started, in the kernel's ticks; empty when there is none or it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return ""
    state, started = fields[0], fields[19]
    return "" if state in "ZX" else started


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Put off Ctrl-C and its like: a process that was started and not noted could never be stopped."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread only
        return
    late: list[int] = []
    before = {number: signal.signal(number, lambda caught, _: late.append(caught)) for number in INTERRUPTS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for missed in late:
            signal.raise_signal(missed)


@contextmanager
def leaving_at(*numbers: signal.Signals) -> Iterator[None]:
    """Let these signals end the program as an exception does, so that what it began is undone."""
    before = {number: signal.signal(number, _leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return  # it ended by itself just now
