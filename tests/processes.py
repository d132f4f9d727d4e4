"""Child processes in tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def guarded(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """Wait for `process` at the end; when the test fails before, kill it, since it may never end by itself."""
    with process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def with_helpers() -> dict[str, str]:
    """The environment of a program that imports what lies beside this file."""
    places = (str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""))
    return os.environ | {"PYTHONPATH": os.pathsep.join(place for place in places if place)}


def resident_bytes(pid: int) -> int:
    """What a process holds of the machine's memory now."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def proportional_bytes(pid: int) -> int:
    """Return the memory of a process in bytes, a page that n processes share counted as 1/n (PSS)."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
    return int(rollup.split("\nPss:")[1].split()[0]) * 1024
