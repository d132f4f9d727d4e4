"""Daemons as processes: started detached, found by their command lines, stopped with a deadline.

A daemon belongs to the home whose configuration file it was started with, by whatever program. A list of daemons would
be wrong after a lost file, a second start or a moved folder; nobody could then stop a daemon that it does not name.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hocket_bus.deadline import Deadline
from hocket_bus.trust.unseen import is_marked
from hocket_tools.pair.home import GATEWAY, NAMES, Home

KEPT_LOG_BYTES = 4 * 2**20
POLL_S = 0.05
PROGRAM = "hocket_tools.main"
PACKAGES = b"hocket_"  # whatever of hocket's is started with a daemon's file is that daemon
COMPLAINT = "hocket: "  # how the command line begins its line of an error
END_S = 5.0
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def start(home: Home, name: str, program: str = PROGRAM) -> int:
    """Start the daemon `name` of `program`, detached from this terminal, with its output in its log; return the pid."""
    log = home.log(name)
    if log.exists() and log.stat().st_size > KEPT_LOG_BYTES:
        log.replace(log.with_suffix(".log.old"))
    home.log(name).parent.mkdir(mode=0o700, exist_ok=True)
    home.pid(name).parent.mkdir(mode=0o700, exist_ok=True)
    command = "retrieval" if name.endswith("-retrieval") else name
    # The file by its name alone: the process stays this home's when the folder is renamed.
    arguments = [sys.executable, "-P", "-m", program, command, "--config", home.config(name).name]
    environment = dict(os.environ) | {"HOCKET_HOME": str(home.at), "TOKENIZERS_PARALLELISM": "false"}
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), append, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    with uninterrupted(), _inside(home.at):
        pid = os.posix_spawn(sys.executable, arguments, environment, file_actions=actions, setsid=True)
        _wait_seen(pid, home)
    with suppress(OSError):  # for people and their scripts: nothing here reads it
        home.pid(name).write_text(f"{pid}\n", encoding="utf-8")
    return pid


def _wait_seen(pid: int, home: Home) -> None:
    """Wait until /proc shows the command line of a new process, which it does a moment after spawning has returned."""
    deadline = Deadline.after(END_S)
    while _configuration(pid, home.at) is None and _started(pid) and not deadline.passed:
        time.sleep(POLL_S / 100)


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Enter `folder` for the context, so that a process that is started within begins there."""
    before = os.open(".", os.O_PATH)
    try:
        os.chdir(folder)
        yield
    finally:
        os.fchdir(before)
        os.close(before)


def running(home: Home, name: str) -> int | None:
    """The pid of the daemon `name`, None where it does not run; of several the one that was started first."""
    return min(pids(home).get(name, []), key=_started, default=None)


def pids(home: Home) -> dict[str, list[int]]:
    """Return the pids of all processes of this user's that are daemons of `home`, by the daemon's name."""
    found: dict[str, list[int]] = {}
    at = os.path.realpath(home.at)
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (config := _configuration(int(entry), home.at)) and str(config.parent) == at:
            found.setdefault(config.stem, []).append(int(entry))
    return found


def _configuration(pid: int, at: Path) -> Path | None:
    """Return the configuration file of a process that is a daemon; None for any other, and for one that cannot be seen.

    A daemon hides its folder, except for a mark that tells whether it is `at` (hocket_bus.trust.unseen).
    """
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if b"--config" not in words[:-1] or not any(word.startswith(PACKAGES) for word in words):
            return None
        written = os.fsdecode(words[words.index(b"--config") + 1])
        folder = _folder(pid, at)
    except OSError:
        return None
    config = Path(os.path.realpath(os.path.join(folder, written)))
    return config if config.suffix == ".toml" and config.stem in (*NAMES, GATEWAY) else None


def _folder(pid: int, at: Path) -> str:
    """The folder that a process is in. Raises OSError where it is another user's, or hidden and not `at`."""
    try:
        return os.readlink(f"/proc/{pid}/cwd").removesuffix(" (deleted)")
    except PermissionError:
        if os.stat(f"/proc/{pid}").st_uid == os.geteuid() and is_marked(at, pid):
            return str(at)
        raise


def exit_status(pid: int) -> int | None:
    """The exit status of a child that has ended; None for others."""
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return None
    return os.waitstatus_to_exitcode(status) if ended else None


def reload(home: Home) -> list[str]:
    """Let the daemons of `home` read the machines they know again; return the daemons' names.

    A daemon that is still starting is left out: it has not read them yet, and the signal would end it.
    """
    reloaded = [(name, pid) for name, found in pids(home).items() for pid in found if _takes_reload(pid)]
    for _, pid in reloaded:
        send(pid, signal.SIGHUP)
    return [name for name in NAMES if name in dict(reloaded)]


def _takes_reload(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    caught = next((line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:")), "0")
    return bool(int(caught, 16) >> (signal.SIGHUP - 1) & 1)


def stop(home: Home, names: list[str], wait_s: float = 10.0) -> list[str]:
    """Stop daemons; return the names of those that had to be killed.

    The first SIGTERM lets requests in work go on for `wait_s`, the second ends them with a reason. Retrieval daemons go
    last: until then those requests search.
    """
    last = [name for name in names if name.endswith("-retrieval")]
    return _stop(home, [name for name in names if name not in last], wait_s) + _stop(home, last, wait_s)


def _stop(home: Home, names: list[str], wait_s: float) -> list[str]:
    left = {pid: name for name, found in pids(home).items() if name in names for pid in found}
    for number, grace_s in ((signal.SIGTERM, wait_s), (signal.SIGTERM, END_S)):
        for pid in left:
            send(pid, number)
        left = _wait_gone(left, Deadline.after(grace_s))
    for pid in left:
        send(pid, signal.SIGKILL)
    _wait_gone(left, Deadline.after(END_S))
    for name in names:
        home.pid(name).unlink(missing_ok=True)
    return list(left.values())


def last_lines(log: Path, count: int = 8) -> list[str]:
    """The end of a log file."""
    try:
        with log.open(encoding="utf-8", errors="replace") as lines:
            return [line.rstrip() for line in deque(lines, maxlen=count)]
    except OSError:
        return []


def last_error(home: Home, name: str) -> str:
    """Return the error that a daemon ended with, the last line of its log; empty where that is no error of its own."""
    final = "".join(last_lines(home.log(name), 1))
    return final.removeprefix(COMPLAINT) if final.startswith(COMPLAINT) else ""


def _wait_gone(processes: dict[int, str], deadline: Deadline) -> dict[int, str]:
    """Wait for processes to end; return those that still run at the deadline."""
    began = {pid: _started(pid) for pid in processes}
    left = processes
    while left := {pid: name for pid, name in left.items() if began[pid] and _started(pid) == began[pid]}:
        for pid in left:
            exit_status(pid)  # a child that has ended stays until somebody asks
        if deadline.passed:
            break
        time.sleep(POLL_S)
    return left


def _started(pid: int) -> str:
    """Return when a process started, in the kernel's ticks; empty when there is none or it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return ""
    state, started = fields[0], fields[19]
    return "" if state in "ZX" else started.rjust(20, "0")


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Defer Ctrl-C and its like to the end of the context: a process started but not noted could never be stopped."""
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


def send(pid: int, number: int) -> None:
    """Send a signal to a process, which may have ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return  # it ended by itself just now
