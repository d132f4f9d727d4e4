"""Commands and paths as they are shown to people."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path


def shortened(path: Path | str) -> str:
    """A path as people write it: `~` for this user's folder."""
    text, own = str(path), os.path.expanduser("~")
    return f"~{text.removeprefix(own)}" if own != "/" and (text == own or text.startswith(f"{own}/")) else text


def shortened_in(text: str) -> str:
    """A text with each path in it as people write it; in quotes, where a shell takes no `~`, it stays."""
    own = os.path.expanduser("~").rstrip("/")
    return re.sub(rf"(?<![^\s(]){re.escape(own)}(?=/)", "~", text) if own else text


def home_flag(home: Path | None) -> str:
    """Return ` --home PATH` as a shell takes it; empty where no home was named."""
    return f" --home {shlex.quote(str(home))}" if home else ""
