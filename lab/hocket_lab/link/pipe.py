"""The pipe of one direction of one connection: bytes that arrive get a release time, and are sent when it is due."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable

from hocket_lab.link.law import DelayLaw

BUFFER_BYTES = 16 * 2**20
END = b""


class Pipe(asyncio.Protocol):
    """A pipe that delays what its `source` sends to its `sink`, which is the source of the pipe `back`.

    ended(clean) is called once the end has been handed on, and when the source is lost: clean is False then.
    """

    source: asyncio.Transport
    back: Pipe

    def __init__(self, law: DelayLaw, began_s: float, ended: Callable[[bool], None]) -> None:
        self._law, self._began_s, self._ended = law, began_s, ended
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._waiting_bytes = 0
        self._held = True  # until it is started
        self._sink_full = False
        self._timer: asyncio.TimerHandle | None = None
        self.passed_bytes = 0

    def hold(self, held: bool) -> None:
        """Stop or resume sending bytes; nothing is lost."""
        self._held = held
        self._on_due()

    def use(self, law: DelayLaw) -> None:
        """Delay what arrives from now on by another law; what is under way keeps its time and its order."""
        law.follow(self._law)
        self._law = law

    def cut(self) -> None:
        """Drop what is under way."""
        self._held = True
        self._waiting.clear()

    # --- what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the source, which is connected."""
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(BUFFER_BYTES)
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.source = transport

    def data_received(self, data: bytes) -> None:
        """Give the data release times and queue it."""
        for first in range(0, len(data), self._law.chunk_bytes):
            self._put(data[first : first + self._law.chunk_bytes])
        self._let_go()
        self._be_felt()

    def eof_received(self) -> bool:
        """Queue the end of what the source sends; the other direction stays open."""
        self._put(END)
        self._let_go()
        return True

    def connection_lost(self, _exc: Exception | None) -> None:
        """Report the end of the source, after an error or because both ends are closed."""
        self._ended(False)

    def pause_writing(self) -> None:
        """Note that our source, the sink of the pipe back, takes no more for now."""
        self.back._sink_full = True
        self.back._be_felt()

    def resume_writing(self) -> None:
        """Note that our source, the sink of the pipe back, takes data again."""
        self.back._sink_full = False
        self.back._be_felt()

    # --- one direction, in order

    def _put(self, chunk: bytes) -> None:
        self._waiting.append((self._law.release_s(self._loop.time() - self._began_s, len(chunk)), chunk))
        self._waiting_bytes += len(chunk)

    def _let_go(self) -> None:
        """Send what is due, and set a timer for the next chunk."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting and not self._held:
            due_s = self._waiting[0][0] + self._began_s
            if due_s > self._loop.time():
                self._timer = self._loop.call_at(due_s, self._on_due)
                return
            self._hand_on(self._waiting.popleft()[1])

    def _on_due(self) -> None:
        self._let_go()
        self._be_felt()

    def _hand_on(self, chunk: bytes) -> None:
        sink = self.back.source
        if chunk == END:
            self._ended(_end(sink))
            return
        if sink.is_closing():  # lost, and about to be cut
            return
        self._waiting_bytes -= len(chunk)
        self.passed_bytes += len(chunk)  # before the send: whoever has received bytes finds them counted
        sink.write(chunk)

    def _be_felt(self) -> None:
        """Stop reading while a buffer is full, so that the sender feels it; else resume."""
        if self._waiting_bytes >= BUFFER_BYTES or self._sink_full:
            self.source.pause_reading()
        else:
            self.source.resume_reading()


def _end(sink: asyncio.Transport) -> bool:
    """Tell `sink` that no more comes; return whether it was still there."""
    try:
        sink.write_eof()
    except OSError:
        return False
    return True
