"""Confinement of a parsing process: it gives up, for good, root's rights, its memory's readers, and system calls.

Only calls that read, write, take memory and wait are left; all others are not there. None of these names another
process, a file or a socket, so that a parser that is taken over has its pipes alone. The filter is a program for the
kernel's BPF: seccomp(2).
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
from collections.abc import Iterator

from hocket_bus.trust.unseen import close_memory

NOBODY = 65534
_PDEATHSIG, _NO_NEW_PRIVS = 1, 38  # of prctl
_SET_FILTER, _ALL_THREADS = 1, 1  # of seccomp
_CALLS = {  # a name, and its numbers on x86_64 and aarch64
    "read": (0, 63), "write": (1, 64), "pread64": (17, 67), "close": (3, 57), "fstat": (5, 80), "lseek": (8, 62),
    "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "mremap": (25, 216), "brk": (12, 214),
    "madvise": (28, 233), "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132), "futex": (202, 98), "set_robust_list": (273, 99), "rseq": (334, 293),
    "membarrier": (324, 283), "restart_syscall": (219, 128), "sched_yield": (24, 124), "sched_getaffinity": (204, 123),
    "getcpu": (309, 168), "nanosleep": (35, 101), "clock_nanosleep": (230, 115), "clock_gettime": (228, 113),
    "clock_getres": (229, 114), "gettimeofday": (96, 169), "times": (100, 153), "getrusage": (98, 165),
    "sysinfo": (99, 179), "getrandom": (318, 278), "getpid": (39, 172), "gettid": (186, 178), "getuid": (102, 174),
    "geteuid": (107, 175), "getgid": (104, 176), "getegid": (108, 177), "exit": (60, 93),
    "exit_group": (231, 94),
}  # fmt: skip
_LIMIT = (302, 261)  # prlimit64: of this process alone
_MACHINES = {"x86_64": (0, 0xC000003E, 317), "aarch64": (1, 0xC00000B7, 277)}  # column, architecture, seccomp's number
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER_AT, _MACHINE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16  # in what the kernel shows the filter
_ALLOWED, _REFUSED = 0x7FFF0000, 0x00050000 | errno.ENOSYS


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def confine() -> list[str]:
    """Give all of these up, for every thread; return what this system does not let go, each as a line for a log."""
    kept = [] if _without_root() else ["it stays root: this system gives no other user"]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # a change of the user would undo it
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    close_memory()
    return [*kept, *_filtered(libc)]


def _without_root() -> bool:
    """Give up root's rights; tell whether this process has none any more."""
    if os.geteuid():
        return True
    try:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    except OSError:
        return False
    return True


def _filtered(libc: ctypes.CDLL) -> Iterator[str]:
    machine = platform.machine()
    if machine not in _MACHINES:
        yield f"no filter of system calls: none is known for {machine}"
        return
    column, architecture, call = _MACHINES[machine]
    steps = list(_steps(column, architecture))
    program = _Program(len(steps), b"".join(steps))
    if libc.syscall(call, _SET_FILTER, _ALL_THREADS, ctypes.byref(program)):
        yield f"no filter of system calls: seccomp says {os.strerror(ctypes.get_errno())}"


def _steps(column: int, architecture: int) -> Iterator[bytes]:
    """The filter. A jump names how many steps are left out, where it holds and where it does not."""
    allowed = [numbers[column] for numbers in _CALLS.values()]
    yield _step(_LOAD, _MACHINE_AT)
    yield _step(_IF_EQUAL, architecture, 0, len(allowed) + 4)  # to the refusal
    yield _step(_LOAD, _NUMBER_AT)
    for at, number in enumerate(allowed):
        yield _step(_IF_EQUAL, number, len(allowed) - at + 3, 0)  # to the end
    yield _step(_IF_EQUAL, _LIMIT[column], 0, 2)
    yield _step(_LOAD, _FIRST_ARGUMENT_AT)
    yield _step(_IF_EQUAL, 0, 1, 0)
    yield _step(_RETURN, _REFUSED)
    yield _step(_RETURN, _ALLOWED)


def _step(code: int, value: int, holds: int = 0, fails: int = 0) -> bytes:
    return struct.pack("=HBBI", code, holds, fails, value)
