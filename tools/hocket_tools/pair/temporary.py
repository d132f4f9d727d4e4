"""A pair that is gone afterwards, processes and files, whatever happens in between."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hocket_tools.pair.home import NAMES, Home
from hocket_tools.pair.processes import stop


@contextmanager
def temporary_home() -> Iterator[Home]:
    """The home of a pair in a temporary folder; its daemons are stopped at the end, also on SIGTERM and SIGHUP."""
    before = {number: signal.signal(number, _leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        with tempfile.TemporaryDirectory(prefix="hocket-") as folder:
            home = Home(Path(folder))
            try:
                yield home
            finally:
                stop(home, list(NAMES))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, _: object) -> None:
    raise SystemExit(128 + number)
