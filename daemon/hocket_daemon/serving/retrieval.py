"""What a daemon asks of its retrieval daemon for its sessions: passages, and scores of passages found before."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.faults import raised
from hocket_bus.messages import Error, Passage, Passages, Place, Score, Scores, Search, Side
from hocket_bus.sockets import Link, Received

WAIT_S = 10.0
WAIT_DOWN_S = 2.0  # for a retrieval daemon that is not connected


@dataclass(frozen=True, slots=True)
class _Lookup:
    """What was asked, whom to tell, and until when."""

    asked: Search | Score
    done: Callable[[Any], None]
    deadline_s: float


class RetrievalClient:
    """Requests under way; each ends in its reply, an error or its deadline. Everything runs on the main thread."""

    def __init__(self, link: Link, side: Side, endpoint: str) -> None:
        self._link = link
        self._where = f"the {side}'s retrieval daemon at {endpoint}"
        self._waiting: dict[bytes, _Lookup] = {}

    def search(self, query: str, k: int, scorer: str, done: Callable[[Passages | HocketError], None]) -> None:
        """Find passages by `scorer`, see Search; `done` gets them or an error, within a deadline."""
        self._ask(Search(request=os.urandom(16), query=query, k=k, scorer=scorer), done)

    def score(
        self, query: str, passages: list[Passage], scorer: str, done: Callable[[list[float] | HocketError], None]
    ) -> None:
        """The same for the scores of passages found before."""
        places = [Place(document=passage.document, ordinal=passage.ordinal) for passage in passages]
        self._ask(Score(request=os.urandom(16), query=query, places=places, scorer=scorer), done)

    def _ask(self, asked: Search | Score, done: Callable[[Any], None]) -> None:
        wait_s = WAIT_S if self._link.up else WAIT_DOWN_S
        self._waiting[asked.request] = _Lookup(asked, done, time.monotonic() + wait_s)
        self._link.send(asked)

    def on_reply(self, event: Received) -> None:
        """A reply; those to nobody's question are ignored."""
        message = event.message
        assert isinstance(message, Passages | Scores | Error)
        lookup = self._waiting.pop(message.request, None)
        if lookup is None:
            return
        if isinstance(message, Error):
            lookup.done(raised(message))
        else:
            lookup.done(message.scores if isinstance(message, Scores) else message)

    def ask_again(self) -> None:
        """The retrieval daemon is there, perhaps another one than before."""
        for lookup in self._waiting.values():
            self._link.send(lookup.asked)

    def hurry(self) -> None:
        """The retrieval daemon has gone: a reader in the middle of an answer does not wait long for scores."""
        latest_s = time.monotonic() + WAIT_DOWN_S
        for request, lookup in self._waiting.items():
            if isinstance(lookup.asked, Score):
                self._waiting[request] = replace(lookup, deadline_s=min(lookup.deadline_s, latest_s))

    @property
    def due_s(self) -> float:
        """When `tick` is next needed."""
        return min((lookup.deadline_s for lookup in self._waiting.values()), default=float("inf"))

    def tick(self, now: float) -> None:
        """End what has waited too long."""
        for request, lookup in list(self._waiting.items()):
            if now >= lookup.deadline_s:
                del self._waiting[request]
                lookup.done(Unavailable(f"{self._where} does not answer", "start it: hocket retrieval --config FILE"))
