"""Laws of the metrics page under people who connect and say nothing: it is read all the same, and costs few threads."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.request import urlopen

import pytest

from hocket_daemon.monitoring.http import MAX_READERS
from hocket_daemon.monitoring.prometheus import Exporter
from ports import free_port
from waiting import WAIT_S, until


@pytest.fixture
def port() -> Iterator[int]:
    """Where a page is served."""
    number = free_port()
    exporter = Exporter(f"127.0.0.1:{number}", lambda command: command(), lambda: {"answers": 1.0})
    yield number
    exporter.close()


def _threads() -> int:
    return sum("process_request" in thread.name for thread in threading.enumerate())


def test_a_hundred_silent_readers_keep_nobody_out(port: int) -> None:
    """They hold as many threads as there may be readers, and the page comes at once."""
    with ExitStack() as opened:
        for _ in range(100):
            opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=WAIT_S)).sendall(b"GET /")
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=WAIT_S) as page:
            assert b"hocket_answers 1.0" in page.read()
        until(lambda: _threads() <= MAX_READERS)
    until(lambda: _threads() == 0)
