"""One direction of one connection: a reader stamps what arrives, a writer lets it go when it is due.

Two threads rather than an event loop: epoll counts whole milliseconds, a condition variable wakes within 0.1 ms. The
reader itself hands on what is due as it arrives and has nothing before it.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from collections.abc import Callable

from hocket_tools.link.law import DelayLaw

BUFFER_BYTES = 16 * 2**20
END = b""


class Pipe:
    """Copies `source` to `sink` late. Every wait ends when the pipe is cut.

    ended(clean) is called once, from the writer thread: clean is False after a broken socket.
    """

    def __init__(
        self, source: socket.socket, sink: socket.socket, law: DelayLaw, began_s: float, ended: Callable[[bool], None]
    ) -> None:
        self._source, self._sink, self._law, self._began_s, self._ended = source, sink, law, began_s, ended
        self._changed = threading.Condition()
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._waiting_bytes = 0
        self._draining = False  # the writer is handing on what it has taken
        self._held = False
        self._cut = False
        self.passed_bytes = 0
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._fill, self._drain)]

    def start(self, held: bool) -> None:
        """Begin copying; a held pipe accepts bytes but lets none go."""
        self._held = held
        for thread in self._threads:
            thread.start()

    def hold(self, held: bool) -> None:
        """Stop or resume letting bytes go; nothing is lost."""
        with self._changed:
            self._held = held
            self._changed.notify_all()

    def use(self, law: DelayLaw) -> None:
        """Delay what arrives from now on by another law; what is under way keeps its time and its place."""
        with self._changed:
            law.follow(self._law)
            self._law = law

    def cut(self) -> None:
        """Drop what is under way and end both threads."""
        with self._changed:
            self._cut = True
            self._changed.notify_all()

    def join(self, deadline_s: float) -> None:
        """Wait for both threads until `deadline_s` on the monotonic clock; a thread does not wait for itself."""
        for thread in self._threads:
            if thread.ident is not None and thread is not threading.current_thread():
                thread.join(max(0.0, deadline_s - time.monotonic()))

    def _fill(self) -> None:
        chunk = None
        while chunk != END:
            try:
                chunk = self._source.recv(self._law.chunk_bytes)
            except OSError:
                self.cut()
                return
            if not self._put(chunk):
                return

    def _put(self, chunk: bytes) -> bool:
        """Stamp and queue one chunk, waiting for room: a full buffer stops reading, so the sender feels it."""
        arrival_s = time.monotonic() - self._began_s
        with self._changed:
            self._changed.wait_for(lambda: self._cut or self._waiting_bytes < BUFFER_BYTES)
            release_s = self._law.release_s(arrival_s, len(chunk))
            idle = not (self._waiting or self._draining or self._held or self._cut)
            if chunk == END or not idle or release_s > arrival_s:
                self._waiting.append((release_s, chunk))
                self._waiting_bytes += len(chunk)
                self._changed.notify_all()
                return not self._cut
        return self._hand_on(chunk)

    def _hand_on(self, chunk: bytes) -> bool:
        self.passed_bytes += len(chunk)  # before the send: whoever has received bytes finds them counted
        try:
            self._sink.sendall(chunk)
        except OSError:
            self.cut()
            return False
        return True

    def _drain(self) -> None:
        while (chunk := self._take()) is not None:
            if chunk == END:
                self._end_sink()
                break
            if not self._hand_on(chunk):
                break
        self._ended(not self._cut)

    def _end_sink(self) -> None:
        try:
            self._sink.shutdown(socket.SHUT_WR)
        except OSError:
            self.cut()

    def _take(self) -> bytes | None:
        """The next chunk once it is due and the link is up; None when the pipe is cut."""
        with self._changed:
            self._draining = False
            while not self._cut:
                wait_s = self._wait_s()
                if wait_s is not None and wait_s <= 0:
                    _, chunk = self._waiting.popleft()
                    self._waiting_bytes -= len(chunk)
                    self._draining = True
                    self._changed.notify_all()
                    return chunk
                self._changed.wait(wait_s)
        return None

    def _wait_s(self) -> float | None:
        """Seconds until the first chunk is due; None when only a change can free it."""
        if self._held or not self._waiting:
            return None
        return self._waiting[0][0] + self._began_s - time.monotonic()
