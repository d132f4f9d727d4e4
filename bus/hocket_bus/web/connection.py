"""HTTP requests to a server and their answers as they come, on a thread that may wait; any other thread can close.

Every wait ends at a moment of the monotonic clock. Redirects are not followed and no proxy is used, so that the API
key goes to the configured server alone.
"""

from __future__ import annotations

import io
import os
import select
import socket
import ssl
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from http.client import HTTPException, HTTPResponse
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ..errors import Cancelled, DeadlineExceeded, ProtocolError, Unavailable, Untrusted
from .server_address import ServerAddress, is_here

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

READ_BYTES = 1 << 16
_NO_PROXY = " (a proxy is set but not used: the key goes to the server only)"
BROKEN = (OSError, HTTPException)  # what `send` and `read` raise where the connection breaks
_Address: TypeAlias = tuple[Any, ...]  # as socket.getaddrinfo has it


class _Waiting(io.RawIOBase):
    """A socket as http.client reads and writes it; each wait ends at `until_s`."""

    def __init__(self, connected: socket.socket) -> None:
        self.until_s = inf
        self._socket = connected

    def readable(self) -> bool:
        """Return True, as io.RawIOBase requires of a readable stream."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read what has come, at least a byte; return the number of bytes, 0 at the end. Raises TimeoutError."""
        self._socket.settimeout(_left(self.until_s))
        return self._socket.recv_into(buffer)

    def sendall(self, data: bytes) -> None:
        """Send all of `data`. Raises TimeoutError."""
        self._socket.settimeout(_left(self.until_s))
        self._socket.sendall(data)

    def makefile(self, _: str) -> io.BufferedReader:
        """Return the reader from which http.client reads an answer."""
        return io.BufferedReader(self, READ_BYTES)


class HttpConnection:
    """A connection for one request at a time: `open`, `send`, `read` to the end; while `is_open`, `send` again."""

    def __init__(self, server: ServerAddress, context: ssl.SSLContext | None) -> None:
        """Prepare a connection; `context` is None for one without encryption."""
        self.server = server
        self._context = context
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_closed = False
        self._connected: socket.socket | None = None  # encrypted where it is to be
        self._waiting: _Waiting | None = None

    def open(self, until_s: float) -> None:
        """Connect, anew if it was open.

        Raises Unavailable, DeadlineExceeded, Untrusted, ProtocolError, or Cancelled once it is closed.
        """
        try:
            connected = self._connect(until_s)
            if self._context is not None:
                connected = self._encrypt(connected, self._context, until_s)
        except TimeoutError as error:
            raise DeadlineExceeded(
                f"no connection to {self.server.place} in time",
                f"check that it runs, and {self.server.setting}",
            ) from error
        self._connected = connected

    @property
    def is_open(self) -> bool:
        """Tell whether another request may be sent: the server has neither ended the connection nor sent more."""
        if self._connected is None or self._is_closed:
            return False
        poll = select.poll()
        poll.register(self._connected, select.POLLIN)
        return not poll.poll(0)

    def send(self, request: bytes, until_s: float) -> HTTPResponse:
        """Send a whole POST, and wait for the head of the answer.

        Raises TimeoutError, and OSError or HTTPException where the connection breaks.
        """
        assert self._connected is not None, "opened first"
        self._waiting = _Waiting(self._connected)  # an answer that is over has closed its own
        self._waiting.until_s = until_s
        self._waiting.sendall(request)
        answer = HTTPResponse(cast("socket.socket", self._waiting), method="POST")
        answer.begin()
        return answer

    def read(self, answer: HTTPResponse, until_s: float) -> bytes:
        """Return what has come of the body, at least a byte; nothing at its end. Raises as `send` does."""
        assert self._waiting is not None, "sent first"
        self._waiting.until_s = until_s
        return answer.read1(READ_BYTES)

    def close(self) -> None:
        """Shut the connection: the server sees the end at once, and waiters wake. From any thread, repeatedly."""
        with self._lock:
            self._is_closed = True
            if self._socket is not None:
                _shut(self._socket)

    def free(self) -> None:
        """Close the connection and release the socket; on the thread that has read."""
        self.close()
        with self._lock:
            if self._socket is not None:
                self._socket.close()

    def _connect(self, until_s: float) -> socket.socket:
        found = self._addresses(until_s)
        why: OSError = OSError("it has no address")
        for number, (family, address) in enumerate(found):
            share_s = _left(until_s) / (len(found) - number)
            try:
                return self._connect_to(family, address, share_s)
            except OSError as error:
                why = error
        if isinstance(why, TimeoutError):
            raise why
        why_not = "nothing listens there" if isinstance(why, ConnectionRefusedError) else why.strerror or str(why)
        raise Unavailable(
            f"{self.server.place} cannot be reached: {why_not}", f"start it, or check {self.server.setting}"
        ) from why

    def _connect_to(self, family: int, address: _Address, wait_s: float) -> socket.socket:
        connecting = self._hold(socket.socket(family, socket.SOCK_STREAM))
        try:
            connecting.settimeout(wait_s)
            connecting.connect(address)
            connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:
            with self._lock:
                connecting.close()
            self._check_interrupt()
            raise
        self._check_interrupt()
        return connecting

    def _addresses(self, until_s: float) -> list[tuple[int, _Address]]:
        """Return families and addresses of the server; only those of this machine if nothing is encrypted."""
        try:
            found = _resolved(self.server, until_s)
        except (socket.gaierror, UnicodeError) as error:
            raise Unavailable(
                f"the name of {self.server.place} is not known here{_NO_PROXY if _has_proxy() else ''}",
                f"check {self.server.setting}, and the network",
            ) from error
        return [each for each in found if self._context is not None or is_here(each[1][0])]

    def _encrypt(self, connected: socket.socket, context: ssl.SSLContext, until_s: float) -> socket.socket:
        try:
            wrapped = context.wrap_socket(connected, server_hostname=self.server.host, do_handshake_on_connect=False)
            self._hold(wrapped)
            wrapped.settimeout(_left(until_s))
            wrapped.do_handshake()
        except ssl.SSLCertVerificationError as error:
            raise Untrusted(
                f"{self.server.place} shows a certificate that is not trusted here: {error.verify_message}",
                "use the certificate's host name in url; name your own authorities in SSL_CERT_FILE",
            ) from error
        except TimeoutError:
            raise
        except OSError as error:
            self._check_interrupt()
            raise ProtocolError(
                f"{self.server.place} does not speak TLS", f"check {self.server.setting}: is it https?"
            ) from error
        return wrapped

    def _hold(self, opened: socket.socket) -> socket.socket:
        """Store the socket as the one that `close` shuts. Raises Cancelled if that has happened already."""
        with self._lock:
            if self._socket is not None:  # of the request before; a socket that was wrapped is none any more
                self._socket.close()
            self._socket = opened
            if self._is_closed:
                _shut(opened)
        self._check_interrupt()
        return opened

    def _check_interrupt(self) -> None:
        if self._is_closed:
            raise Cancelled("the request was cancelled")


def _has_proxy() -> bool:
    return any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"))


def _resolved(server: ServerAddress, until_s: float) -> list[tuple[int, _Address]]:
    """Resolve the server's name. The system's resolver knows no deadline, so it runs on another thread."""
    with suppress(socket.gaierror):
        return _lookup(server, socket.AI_NUMERICHOST)
    outcome: Future[list[tuple[int, _Address]]] = Future()

    def look_up() -> None:
        try:
            outcome.set_result(_lookup(server, 0))
        except (OSError, UnicodeError) as error:
            outcome.set_exception(error)

    threading.Thread(target=look_up, name="resolver", daemon=True).start()
    return outcome.result(timeout=_left(until_s))


def _lookup(server: ServerAddress, flags: int) -> list[tuple[int, _Address]]:
    found = socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM, flags=flags)
    return [(family, address) for family, _, _, _, address in found]


def _left(until_s: float) -> float:
    """Return the seconds until then. Raises TimeoutError once it is past."""
    left_s = until_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s


def _shut(opened: socket.socket) -> None:
    """Shut a socket down in both directions, below any TLS, without waiting for its closing messages."""
    with suppress(OSError):  # it was not connected, or is not any more
        socket.socket.shutdown(opened, socket.SHUT_RDWR)
