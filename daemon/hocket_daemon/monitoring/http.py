"""A page over HTTP, for few readers at a time: silent connections cost neither threads nor memory."""

from __future__ import annotations

import socket
import threading
from collections import deque
from contextlib import suppress
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.types import WSGIApplication

MAX_READERS = 8
READ_S = 5.0  # until a reader has said what it wants


class PageServer(ThreadingMixIn, WSGIServer):
    """A server with a thread for each of at most MAX_READERS connections; of more, the oldest ends."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128  # a reader behind silent ones does not wait for its connection to be tried again

    def __init__(self, address: tuple[str, int], handler: type[WSGIRequestHandler]) -> None:
        """Listen. Raises OSError."""
        super().__init__(address, handler)
        self._open: deque[socket.socket] = deque()
        self._counting = threading.Lock()

    def process_request(self, request: socket.socket, client_address: object) -> None:  # type: ignore[override]
        """Serve a connection on a thread of its own; called on the server's thread."""
        with self._counting:
            self._open.append(request)
            surplus = self._open.popleft() if len(self._open) > MAX_READERS else None
        if surplus is not None:
            with suppress(OSError):
                surplus.shutdown(socket.SHUT_RDWR)  # its thread sees the end, and closes it
        super().process_request(request, client_address)

    def shutdown_request(self, request: socket.socket) -> None:  # type: ignore[override]
        """Close a connection that was served; called on its thread."""
        with self._counting, suppress(ValueError):
            self._open.remove(request)
        super().shutdown_request(request)

    def handle_error(self, *_: object) -> None:
        """Ignore a reader that goes in the middle of a page."""


class _Handler(WSGIRequestHandler):
    timeout = READ_S

    def log_message(self, *_: object) -> None:
        """Log nothing: requests are not logged."""


class _SixServer(PageServer):
    address_family = socket.AF_INET6


def serve(host: str, port: int, page: WSGIApplication) -> PageServer:
    """Serve a page at an address, on a thread until `shutdown`. Raises OSError."""
    server = (_SixServer if ":" in host else PageServer)((host, port), _Handler)
    server.set_app(page)
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server
