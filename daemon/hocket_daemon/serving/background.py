"""Upkeep of stored KV between questions: that of removed documents goes, that of new ones is computed (docs/kv.md).

The retrieval daemon is asked for its collection's version every few seconds. A new version is walked through twice:
at once, for the digests of all texts, so that the store can drop every other entry; then, whenever nothing else is in
work, a page at a time, computing what is missing. While files are ingested nothing is computed: the processors are
theirs. Everything here runs on the main thread but the computing itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import structlog

from hocket_bus.errors import Busy, HocketError
from hocket_bus.messages import Chunks, Error, ListChunks
from hocket_bus.sockets import Received

from ..engine.language_model import DocumentStore
from ..engine.preemption import Interrupt
from ..engine.runtime.sequences import Ahead
from ..engine.runtime.stored import text_digest

POLL_S = 3.0
REPLY_S = 10.0
SETTLED_S = 2 * POLL_S  # without a new version: nothing more is being ingested
_BEHIND_ALL = 2**32 - 1
log = structlog.get_logger(__name__)


class Background:
    """The task that keeps a KV store in step with a document collection."""

    def __init__(
        self,
        stored: DocumentStore | None,
        ask: Callable[[ListChunks], None],
        compute: Callable[[list[str], Interrupt, Callable[[Ahead | HocketError], None]], None],
        words: int,
    ) -> None:
        """Prepare to compute passages of `words` words each; without a store there is nothing to do.

        `compute` runs `compute_ahead` on the compute thread and hands its outcome back on the main thread.
        """
        self._stored = stored
        self._send = ask
        self._compute = compute
        self._words = words
        self._version: int | None = None  # the collection's, as the store knows it
        self._walked: tuple[int, set[bytes]] = (0, set())  # a version, and the digests of its texts so far
        self._after: int | None = None  # where the next page to compute begins; None: nothing is left to compute
        self._texts: list[str] = []  # what is left to compute of the page before
        self._running: Interrupt | None = None
        self._expected: tuple[bytes, Callable[[Chunks], None]] | None = None
        self._due_s = 0.0 if stored is not None else float("inf")  # the next poll, or the end of waiting for a reply
        self._now_s = 0.0
        self._again_s = 0.0  # when rows may be free again, and no more files come

    @property
    def due_s(self) -> float:
        """The time, on the monotonic clock, by which `step` must be called."""
        return self._due_s

    def fact(self) -> str:
        """Return a line for `hocket status`."""
        if self._stored is None:
            return "off"
        return f"{self._stored.fact()}; {'up to date' if self._done else 'computing when idle'}"

    @property
    def _done(self) -> bool:
        return self._version is not None and self._after is None and not self._texts and self._running is None

    def restart(self) -> None:
        """Start over with the retrieval daemon that is connected now, perhaps another one than before."""
        if self._stored is not None:
            self._version, self._expected, self._due_s = None, None, 0.0

    def step(self, now_s: float, idle: bool) -> None:
        """Do what is due; `idle` says that no question is in progress."""
        self._now_s = now_s
        if not idle or not self._texts:
            self.interrupt()
        elif self._running is None and now_s >= self._again_s:
            self._start()
        if now_s >= self._due_s:
            self._ask(_BEHIND_ALL, self._on_version)
        elif idle and self._expected is None and self._after is not None and not self._texts:
            self._ask(self._after, self._on_page)

    def interrupt(self) -> None:
        """Interrupt the computation within a layer; what was computed is stored."""
        if self._running is not None:
            self._running.set()

    def on_reply(self, event: Received) -> None:
        """Handle a reply of the retrieval daemon; one to anybody else's request is ignored."""
        reply = event.message
        assert isinstance(reply, Chunks | Error)
        if self._expected is None or reply.request != self._expected[0]:
            return
        _, act = self._expected
        self._expected, self._due_s = None, self._now_s + POLL_S
        if isinstance(reply, Chunks):
            act(reply)
        else:  # from the beginning at the next poll, and not before
            self._version, self._after, self._texts = None, None, []

    def _ask(self, after: int, act: Callable[[Chunks], None]) -> None:
        request = os.urandom(16)
        self._expected, self._due_s = (request, act), self._now_s + REPLY_S
        self._send(ListChunks(request=request, after=after, words=self._words))

    def _on_version(self, page: Chunks) -> None:
        if page.version != self._version:
            self._version, self._after, self._texts = None, None, []
            self._walked = page.version, set()
            self._again_s = self._now_s + SETTLED_S
            self._ask(0, self._on_walk)

    def _on_walk(self, page: Chunks) -> None:
        version, digests = self._walked
        if page.version != version:  # it changes while we read: from the beginning at the next poll
            return
        digests.update(map(text_digest, page.texts))
        if page.texts:
            self._ask(page.last, self._on_walk)
            return
        assert self._stored is not None
        self._stored.retain(digests)
        self._version, self._after, self._texts = version, 0, []

    def _on_page(self, page: Chunks) -> None:
        if page.version == self._version:
            self._texts, self._after = page.texts, page.last if page.texts else None
        else:
            self._on_version(page)

    def _start(self) -> None:
        texts, self._running = self._texts, Interrupt()

        def done(outcome: Ahead | HocketError) -> None:
            self._running = None
            if texts is self._texts:
                self._on_computed(outcome)

        self._compute(texts, self._running, done)

    def _on_computed(self, outcome: Ahead | HocketError) -> None:
        if isinstance(outcome, Ahead) and outcome.room:
            self._texts = self._texts[outcome.done :]
            return
        if isinstance(outcome, Busy):
            self._again_s = self._now_s + POLL_S
            return
        log.info("no more documents are computed ahead", reason=str(outcome))
        self._texts, self._after = [], None
