"""The machine that a model runs on: its processor by name, never its own, and its memory."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def processor() -> str:
    """The processor's model name, or its architecture where the system tells no more."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def memory_bytes() -> int:
    """Return the size of this machine's memory, in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
