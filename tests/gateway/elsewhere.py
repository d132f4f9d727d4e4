"""A web site of strangers on this machine: it has pages, and counts what asks it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Elsewhere:
    """Its port, its pages by path, and the path of every request that came."""

    port: int
    pages: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)


@contextmanager
def elsewhere() -> Iterator[Elsewhere]:
    """The site, which ends with the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            page = site.pages.get(self.path, "").encode()
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        do_POST = do_GET  # noqa: N815 - the library's name

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site = Elsewhere(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
