"""Requests to the retrieval daemon for sessions: passages, scores of passages found before, extracts.

The keys for which it asks take turns, and each has a few requests under way at most. A request that nobody waits for
any more is dropped, here or there; it counts as under way until it is answered.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, get_args

from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.faults import raised
from hocket_bus.limits.turns import Turns
from hocket_bus.messages import (
    Bridge,
    Drop,
    Error,
    Expire,
    Extract,
    Extracted,
    Held,
    Keep,
    ListHeld,
    ListSubgraphs,
    Match,
    Matched,
    Passage,
    Passages,
    Place,
    Prompt,
    Recalled,
    Removed,
    Score,
    Scores,
    Search,
    Side,
    Subgraphs,
    Survey,
    Surveyed,
    Weigh,
)
from hocket_bus.sockets import Link, Received

from ...engine.runtime.compute import handle
from .follow_up import Found, search_texts

WAIT_S = 10.0
WAIT_DOWN_S = 2.0  # for a retrieval daemon that is not connected
RESTART_S = 15.0  # behind a start, here or there, in which the retrieval daemon may be loading
AGAIN_S = 0.5  # between two questions to one that is
UNDER_WAY = 16  # requests that the retrieval daemon has at once, and
UNDER_WAY_KEY = 4  # of one key
Asked = Search | Score | Extract | Weigh | Survey | ListSubgraphs | Keep | ListHeld | Expire | Match
Answer = Passages | Scores | Extracted | Surveyed | Subgraphs | Held | Recalled | Removed | Matched
ANSWERS = get_args(Answer)
NO_PASSAGES = Passages(request=bytes(16), passages=[], scorer="", scorers=[], documents_total=0, seconds=0.0)


@dataclass(slots=True, eq=False)
class _Lookup:
    """A request, the key that it is for, the callback for its answer, and its deadlines."""

    user: str
    asked: Asked
    done: Callable[[Any], None] | None  # None: nobody waits any more
    deadline_s: float
    last_s: float  # which no restart puts off
    again_s: float = inf
    reason: HocketError | None = None  # why it was not answered yet


class Lookups:
    """The requests of one session; those under way when it is closed are dropped."""

    def __init__(self, client: RetrievalClient, user: str) -> None:
        self._client = client
        self._user = user
        self._asked: set[bytes] = set()

    def find(
        self,
        prompt: Prompt,
        k: int,
        done: Callable[[Found | HocketError], None],
        *,
        scorer: str = "",
        within: Sequence[str] = (),
        words: int = 0,
        bridge: Bridge | None = None,
        steps: int = 2,
    ) -> None:
        """Search for what `prompt` asks; `done` gets, once and within a deadline, what is found or an error.

        `bridge` is what the other side has found; the search takes that many `steps`.
        """
        texts = search_texts(prompt)

        def take(outcome: Passages | HocketError) -> None:
            done(outcome if isinstance(outcome, HocketError) else Found(texts[outcome.form], outcome))

        search = Search(
            request=os.urandom(16),
            query=texts[0],
            k=k,
            scorer=scorer,
            within=list(within),
            words=words,
            others=texts[1:],
            bridge=bridge,
            steps=steps,
        )
        self.ask(search, take)

    def search(
        self,
        query: str,
        k: int,
        scorer: str,
        done: Callable[[Passages | HocketError], None],
        within: Sequence[str] = (),
    ) -> None:
        """Find passages by `scorer` in one step, see Search; `done` gets them or an error, within a deadline."""
        self.ask(Search(request=os.urandom(16), query=query, k=k, scorer=scorer, within=list(within), steps=1), done)

    def score(
        self, query: str, passages: list[Passage], scorer: str, done: Callable[[list[float] | HocketError], None]
    ) -> None:
        """Score passages found before; `done` gets the scores or an error, within a deadline."""
        places = [Place(document=passage.document, ordinal=passage.ordinal) for passage in passages]
        ranks = [passage.rank for passage in passages]
        self.ask(Score(request=os.urandom(16), query=query, places=places, scorer=scorer, ranks=ranks), done)

    def extract(self, query: str, k: int, sentences: int, done: Callable[[Extracted | HocketError], None]) -> None:
        """Extract the sentences nearest the query; `done` gets them or an error, within a deadline."""
        self.ask(Extract(request=os.urandom(16), query=query, k=k, sentences=sentences), done)

    def ask(self, asked: Asked, done: Callable[[Any], None]) -> None:
        """Send a request; `done` gets the answer (of Scores the numbers alone) or an error, within a deadline."""

        def end(outcome: object) -> None:
            self._asked.discard(asked.request)
            done(outcome)

        self._asked.add(asked.request)
        self._client.ask(self._user, asked, end)

    def close(self) -> None:
        """Drop all requests: nobody waits for them any more."""
        for request in self._asked:
            self._client.drop(request)
        self._asked.clear()


class RetrievalClient:
    """Requests that wait or are under way; each ends in its reply, an error or its deadline, or is dropped.

    Everything runs on the main thread.
    """

    def __init__(self, link: Link, side: Side, endpoint: str) -> None:
        self._link = link
        self._where = f"the {side}'s retrieval daemon at {endpoint}"
        self._waiting: Turns[str, _Lookup] = Turns()
        self._lookups: dict[bytes, _Lookup] = {}
        self._under_way: dict[bytes, _Lookup] = {}
        self._was_up = False
        self._settled_s = time.monotonic() + RESTART_S

    def lookups(self, user: str) -> Lookups:
        """Return the lookups of one session, on behalf of the key `user`."""
        return Lookups(self, user)

    def ask(self, user: str, asked: Asked, done: Callable[[Any], None]) -> None:
        """Ask in `user`'s turn; `done` gets the reply or an error, within a deadline."""
        now = time.monotonic()
        deadline_s = now + (WAIT_S if self._link.up else WAIT_DOWN_S)
        lookup = _Lookup(user, asked, done, deadline_s, now + WAIT_S + RESTART_S)
        self._lookups[asked.request] = lookup
        self._put_off(lookup)
        self._waiting.put(user, lookup)
        self._send_next()

    def drop(self, request: bytes) -> None:
        """Drop a request: nobody waits for it any more."""
        lookup = self._lookups.get(request)
        if lookup is None:
            return
        lookup.done = None
        if request in self._under_way and lookup.again_s == inf:
            self._link.send(Drop(request=request))
        else:
            self._end(lookup)

    def on_reply(self, event: Received) -> None:
        """Handle a reply; one to an unknown request is ignored."""
        message = event.message
        assert isinstance(message, Answer | Error)
        lookup = self._under_way.get(message.request)
        if lookup is None:
            return
        if isinstance(message, Error):
            self._on_error(lookup, raised(message))
        else:
            self._end(lookup, message.scores if isinstance(message, Scores) else message)

    def on_up(self) -> None:
        """Ask again what was under way: the retrieval daemon is there, perhaps another one than before."""
        self._was_up = True
        self._restart()
        for lookup in list(self._under_way.values()):
            if lookup.done is None:
                self._end(lookup)
            else:
                self._link.send(lookup.asked)

    def on_down(self) -> None:
        """Note that the retrieval daemon is away.

        Scores then wait only briefly, since a reader in the middle of an answer needs them.
        """
        if self._was_up:
            self._restart()
        self._was_up, latest_s = False, time.monotonic() + WAIT_DOWN_S
        for lookup in self._lookups.values():
            if isinstance(lookup.asked, Score):
                lookup.deadline_s = min(lookup.deadline_s, latest_s)

    @property
    def due_s(self) -> float:
        """The time, on the monotonic clock, at which `tick` is next needed."""
        return min((min(each.deadline_s, each.again_s) for each in self._lookups.values()), default=inf)

    def tick(self, now: float) -> None:
        """End requests that have waited too long, and repeat those that the retrieval daemon could not answer yet."""
        for lookup in list(self._lookups.values()):
            if now >= lookup.deadline_s:
                missing = Unavailable(f"{self._where} does not answer", "start it: hocket up, or its service")
                self._end(lookup, lookup.reason or missing)
            elif now >= lookup.again_s:
                lookup.again_s = inf
                self._link.send(lookup.asked)

    def _on_error(self, lookup: _Lookup, error: HocketError) -> None:
        now = time.monotonic()
        if isinstance(error, Unavailable) and lookup.done is not None and now + AGAIN_S < self._put_off(lookup):
            lookup.reason, lookup.again_s = error, now + AGAIN_S
        else:
            self._end(lookup, error)

    def _restart(self) -> None:
        self._settled_s = time.monotonic() + RESTART_S
        for lookup in self._lookups.values():
            self._put_off(lookup)

    def _put_off(self, lookup: _Lookup) -> float:
        """Extend a search's deadline while the retrieval daemon may be starting, and return until when to ask it again.

        Other requests are not extended: 0 is returned.
        """
        if not isinstance(lookup.asked, Search):
            return 0.0
        until_s = min(self._settled_s, lookup.last_s)
        lookup.deadline_s = max(lookup.deadline_s, until_s)
        return until_s

    def _send_next(self) -> None:
        while len(self._under_way) < UNDER_WAY and (lookup := self._waiting.take(self._busy())) is not None:
            self._under_way[lookup.asked.request] = lookup
            self._link.send(lookup.asked)

    def _busy(self) -> set[str]:
        """Return the keys that have as many requests under way as they may."""
        asking = Counter(each.user for each in self._under_way.values())
        return {user for user, requests in asking.items() if requests >= UNDER_WAY_KEY}

    def _end(self, lookup: _Lookup, outcome: object = None) -> None:
        request = lookup.asked.request
        del self._lookups[request]
        if self._under_way.pop(request, None) is None:
            self._waiting.drop(lookup.user, lambda each: each is lookup)
        self._send_next()
        if lookup.done is not None:
            handle(lookup.done, outcome)
