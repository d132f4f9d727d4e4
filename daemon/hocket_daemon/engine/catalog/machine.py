"""The processor that a model runs on, by name; never the machine's own."""

from __future__ import annotations

import platform
from pathlib import Path


def processor() -> str:
    """The processor's model name, or its architecture where the system tells no more."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
