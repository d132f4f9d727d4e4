"""Commands that are shown to be typed."""

from __future__ import annotations

import shlex
from pathlib import Path


def home_flag(home: Path | None) -> str:
    """` --home PATH` as a shell takes it; empty where none was named."""
    return f" --home {shlex.quote(str(home))}" if home else ""
