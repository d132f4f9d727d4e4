"""A server of text that does what a script says, faults and all: one script for each connection that comes."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Step: TypeAlias = bytes | Callable[[socket.socket], object]

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n"
PLAIN = HEAD + b"\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
DONE = b"data: [DONE]\n\n"
USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


@dataclass
class Scripted:
    """Where it listens, and what came."""

    port: int
    requests: list[bytes] = field(default_factory=list)
    left: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def head(self) -> str:
        """Of the last request."""
        return self.requests[-1].partition(b"\r\n\r\n")[0].decode()

    @property
    def body(self) -> dict[str, Any]:
        return dict(json.loads(self.requests[-1].partition(b"\r\n\r\n")[2]))

    def until_left(self, connection: socket.socket) -> None:
        """Until the client is gone, of which a test can wait to hear."""
        with suppress(OSError):
            while connection.recv(1000):
                pass
        self.left.release()


@contextmanager
def serving(
    *scripts: Callable[[Scripted], Iterable[Step]], context: ssl.SSLContext | None = None
) -> Iterator[Scripted]:
    """The last script answers all further connections, too."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        scripted = Scripted(listening.getsockname()[1])

        def run() -> None:
            number = 0
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    script = scripts[min(number, len(scripts) - 1)]
                    number += 1
                    threading.Thread(target=_serve, args=(scripted, connection, script, context), daemon=True).start()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield scripted
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def _serve(
    scripted: Scripted,
    connection: socket.socket,
    script: Callable[[Scripted], Iterable[Step]],
    context: ssl.SSLContext | None,
) -> None:
    with suppress(OSError), connection:
        if context is not None:
            connection = context.wrap_socket(connection, server_side=True)
        request = b""
        while not _is_whole(request):
            received = connection.recv(1 << 16)
            if not received:
                return
            request += received
        scripted.requests.append(request)
        with connection:
            for step in script(scripted):
                if isinstance(step, bytes):
                    _say(scripted, connection, step)
                else:
                    step(connection)


def _say(scripted: Scripted, connection: socket.socket, step: bytes) -> None:
    """A client may leave before all is said to it."""
    try:
        connection.sendall(step)
    except OSError:
        scripted.left.release()
        raise


def _is_whole(request: bytes) -> bool:
    head, found, body = request.partition(b"\r\n\r\n")
    length = next((line.split(b":")[1] for line in head.split(b"\r\n") if line.startswith(b"Content-Length")), b"0")
    return bool(found) and len(body) >= int(length)


def reset(connection: socket.socket) -> None:
    """End the connection as a killed server's system does where something is unread."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def event(chunk: object) -> bytes:
    """A server-sent event of a chunk."""
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


def piece(text: str | None, api: str = "completions", finish: str | None = None, **others: object) -> bytes:
    """A piece of a text, as either API has it."""
    said: dict[str, object] = {"text": text} if api == "completions" else {"delta": {"content": text}}
    return event({"id": "1", "choices": [{"index": 0, **said, "finish_reason": finish}], **others})


def usage(counted: object = USAGE) -> bytes:
    """The chunk that only counts."""
    return event({"id": "1", "choices": [], "usage": counted})


def chunked(whole: bytes, at: Iterable[int] = ()) -> bytes:
    """A body in HTTP's chunks, cut at these places, and its end."""
    places = [0, *sorted(place % (len(whole) + 1) for place in at), len(whole)]
    parts = [whole[first:last] for first, last in zip(places, places[1:], strict=False) if last > first]  # noqa: RUF007
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def refusal(status: int, body: object = None, *headers: str) -> bytes:
    """A whole answer that is no text."""
    said = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} No", "Content-Type: application/json", f"Content-Length: {len(said)}", *headers]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode() + said
