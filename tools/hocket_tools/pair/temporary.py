"""A pair that is gone afterwards, processes and files, whatever happens in between.

Run as a program, this module is what sweeps up: a process of its own, since an owner that is killed can do nothing.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hocket_tools.pair.home import GATEWAY, NAMES, Home
from hocket_tools.pair.processes import leaving_at, stop, uninterrupted
from hocket_tools.pair.trial import members

SWEEP_S = 60.0  # stopping a pair whose daemons do not heed takes 40


@contextmanager
def temporary_home() -> Iterator[Home]:
    """Yield the home of a pair in a temporary folder, all of which goes at the end of the context or of its process.

    SIGTERM and SIGHUP end the context, too.
    """
    with leaving_at(signal.SIGTERM, signal.SIGHUP):
        home = Home(Path(tempfile.mkdtemp(prefix="hocket-")))
        with _swept(home):
            yield home


@contextmanager
def _swept(home: Home) -> Iterator[None]:
    """Remove the home at the end of this context or of this process.

    A sweeper waits for the end of its input, to which only this process can write.
    """
    command = [sys.executable, "-P", "-m", "hocket_tools.pair.temporary", str(home.at)]
    silent = subprocess.DEVNULL
    with uninterrupted():
        sweeper = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=silent, stderr=silent, start_new_session=True
        )  # a session of its own: Ctrl-C is for the owner
    try:
        yield
    finally:  # as a context manager Popen would wait a quarter of a second behind a Ctrl-C
        sweeper.communicate(timeout=SWEEP_S)


def sweep(home: Home) -> None:
    """Wait for the end of the input, then stop the pair's daemons and remove its folder."""
    sys.stdin.buffer.read()
    for each in members(home):
        stop(each, [GATEWAY, *NAMES])
    shutil.rmtree(home.at, ignore_errors=True)


if __name__ == "__main__":
    sweep(Home(Path(sys.argv[1])))
