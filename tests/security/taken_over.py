"""Run by the tests of the sandbox: a parser that is taken over tries what it can of a process of the same user.

Prints, as JSON, of each attempt whether it came about before and after the process gave all up, and whose it is then.
"""

import codecs
import ctypes
import json
import os
import platform
import sys
from collections.abc import Callable

from hocket_bus.trust.unseen import close_memory
from hocket_retrieval.parsing import sandboxed

USER = 65533
SECRET = ctypes.create_string_buffer(b"of the daemon's memory")
LIBC = ctypes.CDLL(None, use_errno=True)
COLUMN = ("x86_64", "aarch64").index(platform.machine())
NUMBERED = {
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "keyctl": (250, 219),
    "io_uring_setup": (425, 425),
    "pidfd_open": (434, 434),
    "process_madvise": (440, 440),
    "clone3": (435, 435),
    "execveat": (322, 281),
    "landlock_create_ruleset": (444, 444),
}


class Part(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def moved(call: str, daemon: int) -> bool:
    """Between this process and the daemon."""
    mine = ctypes.create_string_buffer(len(SECRET))
    here, there = Part(ctypes.addressof(mine), len(mine)), Part(ctypes.addressof(SECRET), len(SECRET))
    return getattr(LIBC, call)(daemon, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0


def known(call: str) -> bool:
    """Whether there is such a call at all, whatever it says to nonsense."""
    ctypes.set_errno(0)
    LIBC.syscall(NUMBERED[call][COLUMN], -1, 0, 0, 0, 0)
    return ctypes.get_errno() != 38


def opened(path: str) -> bool:
    with open(path, "rb"):
        return True


def attempts(daemon: int) -> dict[str, Callable[[], bool]]:
    return {
        "read": lambda: moved("process_vm_readv", daemon),
        "write": lambda: moved("process_vm_writev", daemon),
        "mem": lambda: opened(f"/proc/{daemon}/mem"),
        "trace": lambda: LIBC.ptrace(0x4206, daemon, 0, 0) == 0,
        "signal": lambda: LIBC.kill(daemon, 0) == 0,
        "signal to all": lambda: LIBC.syscall((234, 131)[COLUMN], daemon, daemon, 0) == 0,
        "limits": lambda: LIBC.prlimit(daemon, 7, 0, ctypes.create_string_buffer(16)) == 0,
        "priority": lambda: LIBC.setpriority(0, daemon, 19) == 0,
    } | {call: lambda call=call: known(call) for call in NUMBERED}


def outcome(attempt: Callable[[], bool]) -> bool:
    try:
        return attempt()
    except OSError:
        return False


def main() -> None:
    codecs.lookup("ascii")  # another user may not read it
    daemon, is_closed, is_root = os.getpid(), sys.argv[1] == "closed", sys.argv[2] == "root"
    if not is_root:
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
        LIBC.prctl(4, 1, 0, 0, 0)  # as after an exec
    if is_closed:
        close_memory()
    if child := os.fork():
        raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    LIBC.prctl(4, 1, 0, 0, 0)
    before = {name: outcome(attempt) for name, attempt in attempts(daemon).items() if name != "trace"}
    kept = sandboxed._lock_in()
    after = {name: outcome(attempt) for name, attempt in attempts(daemon).items()}
    user = [os.getuid(), os.geteuid(), os.getgid(), os.getegid()]
    said = {"before": before, "after": after, "kept": kept, "user": user}
    os.write(1, json.dumps(said).encode())
    os._exit(0)


if __name__ == "__main__":
    main()
