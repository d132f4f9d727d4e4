"""Child processes in tests."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def guarded(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """Wait for `process` at the end; when the test fails before, kill it, since it may never end by itself."""
    with process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise
