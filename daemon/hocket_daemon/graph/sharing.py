"""The device's part: it keeps the cloud in step with the summaries of its graph, where its owner allows it.

The cloud says what it holds; the difference travels, a page at a time, and a break resumes where the cloud says it
stands. Where summaries may not leave, the cloud is told to forget what it may still hold. Runs on the main thread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from math import inf

import structlog

from hocket_bus.errors import HocketError
from hocket_bus.messages import (
    PAGE_SUMMARIES,
    ListSubgraphs,
    Subgraph,
    Subgraphs,
    Summaries,
    SummariesHeld,
    Summary,
    Withdraw,
)

from ..serving.search.retrieval import RetrievalClient

POLL_S = 3.0  # between two looks at the graph
ANSWER_S = 15.0  # what the cloud gets to say what it holds
PAGE_BYTES = 2**18
ASKER = "the graph"  # in whose turn the graph is looked at
BEHIND_ALL = 2**32 - 1  # where a page of the graph begins that has its state alone
log = structlog.get_logger(__name__)

Sent = Summaries | Withdraw


@dataclass(slots=True)
class _Graph:
    """The graph as it was last read: complete once all pages are there."""

    store: str = ""
    state: int = -1
    subgraphs: dict[int, Subgraph] = field(default_factory=dict)


class Sharing:
    """The sharing of summaries: idle while the cloud is away, and, if not `allowed`, but for one withdrawal."""

    def __init__(self, retrieval: RetrievalClient, send: Callable[[Sent], None], *, allowed: bool) -> None:
        self.held: dict[int, int] = {}  # versions by subgraph, as the cloud says
        self.problem = ""
        self.due_s = inf
        self.sent_total = 0
        self._retrieval, self._send = retrieval, send
        self._allowed = allowed
        self._up = False
        self._graph, self._reading = _Graph(), _Graph()
        self._known = False  # what the cloud holds, of this link
        self._waits = False  # for an answer of the cloud's
        self._looking = False  # at the state alone, which costs nothing
        self._refused = False  # the cloud has said that it will not take them

    # --- events

    def on_peer(self, up: bool, now: float) -> None:
        """Note that the cloud can be reached, or cannot."""
        self._up, self._known, self._waits, self._refused = up, False, False, False
        self.due_s = now if up else inf

    def on_held(self, message: SummariesHeld, now: float) -> None:
        """Take the cloud's report on what it holds now, and send the next page."""
        self._waits, self._known = False, True
        self.held = {each.id: each.version for each in message.held}
        if message.problem and message.problem != self.problem:
            log.warning("the cloud does not take all summaries", reason=message.problem)
        self.problem, self._refused = message.problem, bool(message.problem)
        self._go_on(now)

    def stop(self) -> None:
        """Withdraw everything, and share no more until the next start."""
        self._allowed = False
        self._withdraw_all()

    def tick(self, now: float) -> None:
        """Look at the graph, or begin anew with a cloud that has not answered."""
        if now < self.due_s:
            return
        self.due_s = now + POLL_S
        if self._waits:
            self._waits = self._known = False
        self._read(BEHIND_ALL)

    # --- actions

    def _withdraw_all(self) -> None:
        """Withdraw everything, once a link: it is a few bytes, and the owner need not remember what the cloud holds."""
        self.due_s = inf
        if self._up:
            self._send(Withdraw(store=self._graph.store))

    def _read(self, offset: int) -> None:
        self._looking = offset == BEHIND_ALL
        asked = ListSubgraphs(request=os.urandom(16), offset=offset)
        self._retrieval.ask(ASKER, asked, self._on_page)

    def _on_page(self, page: Subgraphs | HocketError) -> None:
        if isinstance(page, HocketError):
            return  # the next look may find more
        if not self._allowed:
            self._graph.store = page.store  # by which a cloud on ipc knows whose they are
            self._withdraw_all()
            return
        if (page.store, page.state) == (self._graph.store, self._graph.state):
            self._compare()
            return
        if self._looking:
            self._read(0)
            return
        reading = self._reading
        if (reading.store, reading.state) != (page.store, page.state):
            if reading.subgraphs:  # it changed while it was read: from the beginning at the next look
                self._reading = _Graph()
                return
            reading.store, reading.state = page.store, page.state
        reading.subgraphs |= {each.id: each for each in page.subgraphs}
        if page.subgraphs and len(reading.subgraphs) < page.total:
            self._read(len(reading.subgraphs))
            return
        self._graph, self._reading = reading, _Graph()
        self._compare()

    def _compare(self) -> None:
        """Ask the cloud what it holds where that is not known of this link, else send what differs."""
        if not self._up or self._waits or self._refused:
            return
        if self._known:
            self._go_on(time.monotonic())
        else:
            self._wait(Summaries(store=self._graph.store), time.monotonic())

    def _wait(self, message: Sent, now: float) -> None:
        self._waits, self.due_s = True, now + ANSWER_S
        self._send(message)

    def _go_on(self, now: float) -> None:
        if not self._up or not self._allowed or self._refused or not self._graph.store:
            return
        gone = sorted(self.held.keys() - self._shareable().keys())
        page = self._page()
        if gone:
            self._wait(Withdraw(store=self._graph.store, ids=gone), now)
        elif page:
            self.sent_total += len(page)
            self._wait(Summaries(store=self._graph.store, summaries=page), now)
        else:
            self.due_s = now + POLL_S

    def _shareable(self) -> dict[int, Subgraph]:
        return {id: each for id, each in self._graph.subgraphs.items() if each.summary}

    def _page(self) -> list[Summary]:
        """Return the next summaries that the cloud lacks, or has in another version."""
        lacking = (each for each in self._shareable().values() if self.held.get(each.id) != each.version)
        return _fitting(Summary(id=each.id, version=each.version, text=each.summary) for each in lacking)

    @property
    def fact(self) -> str:
        """A line for `hocket status`."""
        if not self._allowed:
            return "nothing (summaries = false)"
        current, own = self.counts
        problem = f"; {self.problem}" if self.problem else ""
        return f"the cloud holds {len(self.held)} summaries, {current} of {own} up to date{problem}"[:2_000]

    @property
    def counts(self) -> tuple[int, int]:
        """The number of summaries that the cloud holds up to date, 0 before it has said so, and their number here."""
        own = self._shareable().values()
        current = sum(self.held.get(each.id) == each.version for each in own) if self._known else 0
        return current, len(own)


def _fitting(summaries: Iterable[Summary]) -> list[Summary]:
    """Return as many of the summaries as a message holds."""
    page: list[Summary] = []
    for each in summaries:
        page.append(each)
        if len(page) == PAGE_SUMMARIES:
            break
    sizes = accumulate(len(each.text.encode()) for each in page)
    return [each for each, size in zip(page, sizes, strict=True) if size <= PAGE_BYTES]
