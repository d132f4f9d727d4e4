"""Messages on Ctrl-C: a command that is interrupted says in one line what goes on, or what is half done."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def leaving(line: str) -> Iterator[None]:
    """Print `line` on Ctrl-C within the context: what goes on or stays, and the command that ends or resumes it."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(f"hocket: {line}\n")
        raise
