"""The peers that a server hears: who greeted, who has gone, and the round trip each reported. Pure; knows no socket.

Times are seconds on a clock that stops while nothing can be read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from .messages import Hello

GONE_AFTER_S = 10.0  # of silence; an end pings twice a second
MAX_ENDS = 4_096


@dataclass(frozen=True, slots=True)
class Change:
    """A peer's arrival, return or departure; the peer has greeted before."""

    here: bool
    route: bytes
    hello: Hello
    user: str


@dataclass(slots=True)
class _End:
    route: bytes
    user: str
    received_s: float
    rtt_s: float = 0.0
    hello: Hello | None = None
    here: bool = False  # it greeted, and was not told to have gone

    def become(self, here: bool) -> list[Change]:
        """Set whether the peer is here; return the change, if this is one."""
        if self.hello is None or self.here is here:
            return []
        self.here = here
        return [Change(here, self.route, self.hello, self.user)]


class Ends:
    """The peers of a server, at most `max_ends`; beyond that the one that has been silent for longest is dropped.

    The changes of each peer alternate between here and gone, beginning with here.
    """

    def __init__(self, gone_after_s: float = GONE_AFTER_S, max_ends: int = MAX_ENDS) -> None:
        self._gone_after_s = gone_after_s
        self._max_ends = max_ends
        self._ends: OrderedDict[bytes, _End] = OrderedDict()  # by when they were heard; other threads read

    def receive(self, route: bytes, user: str, now_s: float) -> list[Change]:
        """Note that something came from a peer. One that had gone is here again."""
        end = self._ends.get(route)
        if end is None or end.user != user:
            return self._meet(_End(route, user, now_s), end)
        end.received_s = now_s
        self._ends.move_to_end(route)
        return end.become(here=True)

    def greet(self, route: bytes, hello: Hello) -> list[Change]:
        """Record the Hello of a peer that was just heard. The same Hello changes nothing; another one replaces it."""
        end = self._ends[route]
        changes = end.become(here=False) if end.hello != hello else []
        end.hello = hello
        return changes + end.become(here=True)

    def leave(self, now_s: float) -> Iterator[Change]:
        """Yield the departures of peers that greeted and have been silent too long; each is gone once it is yielded."""
        silent = takewhile(lambda end: now_s - end.received_s > self._gone_after_s, self._ends.values())
        for end in list(silent):
            yield from end.become(here=False)

    def report_rtt(self, route: bytes, rtt_s: float) -> None:
        """Record the round trip that a peer, which was just heard, reported."""
        self._ends[route].rtt_s = rtt_s

    def rtt_s(self, route: bytes) -> float:
        """Return the round trip to a peer as it last reported it; 0 when nothing is known."""
        end = self._ends.get(route)
        return 0.0 if end is None else end.rtt_s

    def received_s(self, route: bytes) -> float:
        """Return when a peer was last heard; 0 when nothing is known."""
        end = self._ends.get(route)
        return 0.0 if end is None else end.received_s

    def _meet(self, end: _End, before: _End | None) -> list[Change]:
        """Add a new peer; it replaces `before`, another user's peer under the same route."""
        changes = [] if before is None else before.become(here=False)
        self._ends[end.route] = end
        self._ends.move_to_end(end.route)
        if len(self._ends) > self._max_ends:
            changes += self._ends.popitem(last=False)[1].become(here=False)
        return changes
