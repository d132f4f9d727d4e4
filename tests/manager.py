"""A service manager as a daemon sees it: a datagram socket that news arrive at."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hocket_bus.deadline import Deadline
from waiting import WAIT_S

News = dict[str, str]


class Manager:
    """Listens at `address`: a path, or an abstract name after "@"."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind("\0" + address[1:] if address.startswith("@") else address)

    def heard(self, wait_s: float = WAIT_S) -> News:
        """The next news. Raises TimeoutError."""
        self._socket.settimeout(wait_s)
        return dict(line.split("=", 1) for line in self._socket.recv(4096).decode().split("\n"))

    def until(self, name: str) -> News:
        """The next news that hold `name`; signs of life do not put off when it is late. Raises TimeoutError."""
        deadline = Deadline.after(WAIT_S)
        while True:
            news = self.heard(max(0.001, deadline.left_s))
            if name in news:
                return news

    def fill(self) -> None:
        """Let news pile up until the kernel takes no more."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel, suppress(BlockingIOError):
            channel.setblocking(False)
            channel.connect(self._socket.getsockname())
            while True:
                channel.send(b"FULL=1")

    def close(self) -> None:
        self._socket.close()


@contextmanager
def manager(address: str) -> Iterator[Manager]:
    made = Manager(address)
    try:
        yield made
    finally:
        made.close()
