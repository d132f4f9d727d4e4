"""A server that speaks as much of the Hugging Face hub's protocol as a download needs, and fails where it shall."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
_PIECE = 1 << 14


@dataclass
class SmallHub:
    """Repositories by name, each with files by name; what was asked of it."""

    files: dict[str, dict[str, bytes]]
    gated: set[str] = field(default_factory=set)
    forged: set[str] = field(default_factory=set)  # files whose list has another hash than their bytes
    status: int = 0  # of every answer, where it is not 0
    holds_after: int | None = None  # bytes of a file, behind which no more come
    ranges: bool = True
    sent: int = 0  # bytes of files
    asked: list[str] = field(default_factory=list)  # ranges
    held: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def about(self, name: str) -> dict[str, Any]:
        """What the hub tells of a repository."""
        siblings = []
        for file, content in self.files[name].items():
            digest = hashlib.sha256(content + (b"!" if file in self.forged else b"")).hexdigest()
            row: dict[str, Any] = {"rfilename": file, "size": len(content), "blobId": "0"}
            if file.endswith((".gguf", ".safetensors")):
                row["lfs"] = {"sha256": digest, "size": len(content), "pointerSize": 130}
            siblings.append(row)
        return {"id": name, "modelId": name, "sha": COMMIT, "tags": ["license:apache-2.0"], "siblings": siblings}


@contextmanager
def small_hub(hub: SmallHub) -> Iterator[SmallHub]:
    """It listens as long as the context lasts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            _answer(hub, self)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        hub.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _answer(hub: SmallHub, asked: BaseHTTPRequestHandler) -> None:
    path = urlsplit(asked.path).path.lstrip("/")
    if hub.status:
        _refuse(asked, hub.status, "")
    elif path.startswith("api/models/"):
        name = path.removeprefix("api/models/").partition("/revision/")[0]
        if name in hub.gated:
            _refuse(asked, 403, "GatedRepo")
        elif name not in hub.files:
            _refuse(asked, 404, "RepoNotFound")
        else:
            _send(asked, 200, json.dumps(hub.about(name)).encode())
    else:
        name, _, rest = path.partition("/resolve/")
        _file(hub, asked, hub.files[name][rest.partition("/")[2]])


def _refuse(asked: BaseHTTPRequestHandler, status: int, code: str) -> None:
    _send(asked, status, b"{}", {"X-Error-Code": code} if code else {})


def _send(asked: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
    asked.send_response(status)
    for header, value in {
        "Content-Length": str(len(body)),
        "Content-Type": "application/json",
        **(headers or {}),
    }.items():
        asked.send_header(header, value)
    asked.end_headers()
    asked.wfile.write(body)


def _file(hub: SmallHub, asked: BaseHTTPRequestHandler, content: bytes) -> None:
    wanted = asked.headers.get("Range", "")
    hub.asked.append(wanted)
    first = int(wanted.removeprefix("bytes=").partition("-")[0]) if wanted and hub.ranges else 0
    asked.send_response(206 if first else 200)
    asked.send_header("Content-Length", str(len(content) - first))
    if first:
        asked.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
    asked.end_headers()
    for at in range(first, len(content), _PIECE):
        if hub.holds_after is not None and at >= hub.holds_after:
            hub.held.set()
            hub.released.wait()
            return
        piece = content[at : at + _PIECE]
        asked.wfile.write(piece)
        hub.sent += len(piece)
