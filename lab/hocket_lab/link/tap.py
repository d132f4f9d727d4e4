"""A tap in a wire: passes bytes on unchanged and records what the connecting end sent, to be read as ZeroMQ frames.

The framing is ZMTP 3 (RFC 23). Unencrypted messages can be read; of CURVE's (RFC 26) their plain lengths are known.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from hocket_lab.link.conditions import parse_address

CONNECT_TIMEOUT_S = 5.0
_GREETING_BYTES = 64
_MORE, _LONG, _COMMAND = 1, 2, 4
_CURVE = b"\x07MESSAGE"
CURVE_BYTES = len(_CURVE) + 8 + 16 + 1  # that each frame is longer: nonce, authentication, flags


class Tap:
    """A tap that listens at one endpoint and joins each client to another; both `ipc://PATH` or `tcp://HOST:PORT`."""

    def __init__(self, listen: str, target: str) -> None:
        """Listen at `listen`. Raises OSError when it cannot be bound."""
        self._target = target
        self._recorded: list[bytearray] = []
        self._recording: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self._listener = _listen(listen)
        self._closed = False
        threading.Thread(target=self._accept, name="tap", daemon=True).start()

    def recorded(self) -> list[bytes]:
        """Return what the connecting ends have sent so far, one entry for each connection."""
        return [bytes(each) for each in self._recorded]

    def ended(self) -> bool:
        """Tell whether each connection so far has ended: nothing more of it will be recorded."""
        return not any(thread.is_alive() for thread in self._recording)

    def close(self) -> None:
        """Close every socket; may be called twice."""
        self._closed = True
        for each in (self._listener, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def __enter__(self) -> Tap:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                near, _ = self._listener.accept()
                remote = _connect(self._target)
            except OSError:
                continue
            kept = bytearray()
            self._recorded.append(kept)
            self._sockets += [near, remote]
            recording = threading.Thread(target=_pump, args=(near, remote, kept), daemon=True)
            recording.start()
            self._recording.append(recording)
            threading.Thread(target=_pump, args=(remote, near, bytearray()), daemon=True).start()


def messages(recorded: bytes) -> Iterator[list[bytes]]:
    """The messages of one unencrypted connection, each as its frames; one not yet complete is left out."""
    frames: list[bytes] = []
    for flags, body in _frames(recorded):
        if not flags & _COMMAND:
            frames.append(body)
            if not flags & _MORE:
                yield frames
                frames = []


def encrypted_bytes(recorded: bytes) -> int:
    """The bytes of all frames of one CURVE connection before they were encrypted."""
    return sum(len(body) - CURVE_BYTES for _, body in _frames(recorded) if body.startswith(_CURVE))


def _frames(recorded: bytes) -> Iterator[tuple[int, bytes]]:
    at = _GREETING_BYTES
    while at + 2 <= len(recorded):
        flags = recorded[at]
        width = 8 if flags & _LONG else 1
        start = at + 1 + width
        at = start + int.from_bytes(recorded[at + 1 : start], "big")
        if at > len(recorded):
            return
        yield flags, recorded[start:at]


def _listen(endpoint: str) -> socket.socket:
    if endpoint.startswith("ipc://"):
        path = Path(endpoint.removeprefix("ipc://"))
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        listener.listen()
        return listener
    return socket.create_server(parse_address(endpoint.removeprefix("tcp://")))


def _connect(endpoint: str) -> socket.socket:
    if not endpoint.startswith("ipc://"):
        connected = socket.create_connection(parse_address(endpoint.removeprefix("tcp://")), CONNECT_TIMEOUT_S)
        connected.settimeout(None)
        return connected
    connected = socket.socket(socket.AF_UNIX)
    connected.connect(endpoint.removeprefix("ipc://"))
    return connected


def _pump(source: socket.socket, sink: socket.socket, kept: bytearray) -> None:
    with suppress(OSError):
        while chunk := source.recv(65_536):
            kept += chunk
            sink.sendall(chunk)
    for each in (source, sink):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
