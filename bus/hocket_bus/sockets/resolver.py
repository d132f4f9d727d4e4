"""Resolution of a host name off the I/O thread: libzmq would block the thread that carries every socket."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from queue import Empty, SimpleQueue

from hocket_bus.endpoints import host_of
from hocket_bus.errors import Unavailable

LOOKUP_S = 3.0


class Resolver:
    """The resolver of an endpoint's host. A look-up that hangs stays on its own thread, and no second one is begun."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._host = host_of(endpoint)
        self._by_address = _is_address(self._host)
        self._answers: SimpleQueue[list[str] | OSError] = SimpleQueue()
        self._asked_s: float | None = None

    def found(self, attempt: int) -> str | None:
        """Return the endpoint by address, a different one at each attempt; None while the look-up runs.

        Raises Unavailable if the name has no address, or the resolver does not answer.
        """
        if self._by_address:
            return self._endpoint
        now = time.monotonic()
        if self._asked_s is None:
            self._asked_s = now
            threading.Thread(target=self._look_up, name="resolver", daemon=True).start()
        try:
            answer = self._answers.get_nowait()
        except Empty:
            if now - self._asked_s <= LOOKUP_S:
                return None
            raise Unavailable(f"the name {self._host} was not resolved in time", "check this machine's DNS") from None
        self._asked_s = None
        if isinstance(answer, OSError):
            text = f"the name {self._host} has no address: {answer.strerror or answer}"
            raise Unavailable(text, "check the name and this machine's DNS")
        return answer[attempt % len(answer)]

    def _look_up(self) -> None:
        port = self._endpoint.rpartition(":")[2]
        try:
            found = socket.getaddrinfo(self._host, int(port), type=socket.SOCK_STREAM)
        except OSError as error:
            self._answers.put(error)
            return
        hosts = [sockaddr[0] for *_, sockaddr in sorted(found, key=lambda each: each[0] != socket.AF_INET)]
        addresses = (f"[{host}]" if ":" in str(host) else host for host in dict.fromkeys(hosts))
        self._answers.put([f"tcp://{address}:{port}" for address in addresses])


def _is_address(host: str) -> bool:
    """Tell whether no look-up is needed: for an address, and for the empty host of ipc."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host == ""
    return True
