"""What Ctrl-C leaves: a command that is left while something goes on, or is half done, says so in one line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def leaving(line: str) -> Iterator[None]:
    """Where Ctrl-C comes meanwhile: say what goes on or stays, and the command that ends it or goes on with it."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(f"hocket: {line}\n")
        raise
