"""The table of all sessions of a daemon: those that clients asked for, and those that the other side has opened.

A session that the other side leads is ended when
- that side has said nothing of it for `silence_s`, unless one of both sides may still be reading;
- no token has come of it in the time that the other side may take to read its prompt after this one;
- others that hold less wait (`Admission.pressed`), and it has had no token for QUIET_S or been held for TURN_S.
In the last two cases the other side is told when to come back: it goes on alone meanwhile, and joins again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import TypeVar

import structlog

from hocket_bus.errors import BadMessage, Busy, Unavailable
from hocket_bus.log import RateLimitedLog
from hocket_bus.messages import Message, Side
from hocket_bus.sockets import Received

from ...engine.runtime.compute import failure
from ..admission import Admission
from ..cluster import ClusterPeer
from ..mode import Facts, FollowedSession, Peer, Session

READING_S = 60.0  # what the other side may take to read when this one has read, and
READING_ROW_S = 20.0  # for each of its rows: 2,000 tokens at 100 a second
QUIET_S = 10.0  # without a token while others wait
TURN_S = 60.0  # altogether while others wait
T = TypeVar("T")
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Led:
    """A session that this side leads, for a client."""

    mode: str
    session: Session
    peer: Peer | None


@dataclass(slots=True)
class Followed:
    """A session that the other side leads, and when that side last sent something about it."""

    mode: str
    session: FollowedSession
    peer: Peer
    rows: int
    began_s: float
    received_s: float = field(init=False)
    read_s: float = field(init=False)  # when this side had read, as far as is known; until then it moves on
    moved_s: float = field(init=False)  # when the last token was seen
    steps: int = 0  # seen by then
    reads: bool = False  # as it was seen last
    spoken: bool = False  # the other side has said something of it since it was opened

    def __post_init__(self) -> None:
        self.received_s = self.read_s = self.moved_s = self.began_s

    @property
    def begin_by_s(self) -> float:
        """The time by which a first token must have come."""
        return inf if self.steps else self.read_s + READING_S + READING_ROW_S * self.rows

    def look(self, now: float) -> None:
        """Update how far the session has come."""
        if self.reads or not self.session.has_read:
            self.reads = not self.session.has_read
            self.read_s = self.moved_s = now
        elif self.session.steps != self.steps:
            self.steps, self.moved_s = self.session.steps, now

    def may_be_silent(self, now: float, silence_s: float) -> bool:
        """Tell whether the other side may be silent: one side reads, or this one writes, and the link is alive."""
        reads = not self.spoken or now - self.read_s <= silence_s
        return (reads or self.session.leads) and self.peer.silence_s <= silence_s

    def overstays(self, now: float) -> bool:
        """Tell whether the session must end if others wait."""
        return now - self.moved_s >= QUIET_S or now - self.read_s >= TURN_S


Entry = Led | Followed


class Sessions:
    """The sessions of a daemon. A place is reserved before a session is added, and given back when it is removed."""

    def __init__(
        self, admission: Admission, silence_s: float, ended: Callable[[bytes, str, Callable[[], Facts]], None]
    ) -> None:
        """Begin without sessions; the other side may be silent for `silence_s` about one that it leads.

        `ended` gets the number, the mode and the record of each session that is over.
        """
        self._admission = admission
        self._silence_s = silence_s
        self.ended = ended
        self._bad_messages = RateLimitedLog(log, "bad message of the other side")
        self.led: dict[bytes, Led] = {}  # by the request's number
        self.followed: dict[bytes, Followed] = {}  # by the session's

    def __len__(self) -> int:
        return len(self.led) + len(self.followed)

    def lead(self, request: bytes, mode: str, session: Session, peer: Peer | None = None) -> None:
        """Add a session that a client asked for, with its other side."""
        self.led[request] = Led(mode, session, peer)

    def follow(self, mode: str, session: FollowedSession, peer: Peer, rows: int, now: float) -> None:
        """Add a session that the other side has opened."""
        self.followed[session.id] = Followed(mode, session, peer, rows, now)

    def led_as(self, session: bytes) -> Led | None:
        """Return the open session that this side leads under that number."""
        return next((each for each in self.open_led() if each.session.id == session), None)

    def open_led(self) -> list[Led]:
        """Return the sessions that this side leads and that are not over."""
        return [each for each in self.led.values() if not each.session.closed]

    def on_answer(self, event: Received) -> None:
        """Handle a message of the other side about a session that this one leads, if there is such a session."""
        entry = self.led_as(getattr(event.message, "session", b""))
        if entry is None:
            return
        if isinstance(entry.peer, ClusterPeer) and entry.peer.is_elsewhere(event, entry.session.on_peer):
            return
        try:
            _isolated(entry.session, partial(entry.session.receive, event.message))
        except BadMessage as error:
            self._bad_messages.note(error=str(error))

    def followed_as(self, session: bytes, user: str) -> Followed | None:
        """Return the session that `user` leads under that number."""
        entry = self.followed.get(session)
        return entry if entry is not None and entry.peer.user == user else None

    def followed_by(self, user: str) -> int:
        """Return how many sessions `user` leads here; "" counts everybody's."""
        return sum(user in ("", entry.peer.user) for entry in self.followed.values())

    def on_message(self, entry: Followed, message: Message, now: float) -> None:
        """Handle a message about a session that the other side leads. Raises BadMessage."""
        entry.received_s, entry.spoken = now, True
        if not entry.session.closed:
            _isolated(entry.session, partial(entry.session.receive, message))

    def on_end(self, entry: Followed, message: Message) -> None:
        """Handle that the other side has ended a session that it leads."""
        _isolated(entry.session, partial(entry.session.end, message))

    def stop(self, side: Side) -> None:
        """Stop this side: its clients may ask again, other sides go on without it."""
        for led in self.open_led():
            led.session.fail(stopping(side))
        for followed in list(self.followed.values()):
            if not followed.session.closed:
                followed.session.fail(Unavailable(f"the {side} is stopping", "it takes part again when it is back"))

    def due_s(self) -> float:
        """Return the time at which `tick` is next needed."""
        followed = [min(each.received_s + self._silence_s, each.begin_by_s) for each in self.followed.values()]
        due = [_isolated(session, session.due_s) or 0.0 for session in self._open()]
        return min(due + followed, default=inf)

    def tick(self, now: float) -> None:
        """Act on what has not come in time, and end sessions whose other side is silent."""
        for session in self._open():
            _isolated(session, partial(_tick, session, now))
        for entry in self.followed.values():
            if not entry.session.closed:
                entry.look(now)
                self._judge(entry, now)

    def _judge(self, entry: Followed, now: float) -> None:
        if now >= entry.begin_by_s:
            self._send_back(entry, f"the session made no progress in {now - entry.began_s:.0f} s")
        elif entry.overstays(now) and self._admission.pressed(entry.peer.user, now):
            self._send_back(entry, "machines that use less are waiting")
        elif now - entry.received_s > self._silence_s:
            if entry.may_be_silent(now, self._silence_s):
                entry.received_s = now
            else:
                entry.session.close()

    def _send_back(self, entry: Followed, why: str) -> None:
        retry_s = self._admission.retry_s()
        entry.session.fail(Busy(why, f"try again in {retry_s:.1f} s", retry_s))

    def sweep(self, now: float) -> bool:
        """Remove the sessions that are over; tell whether there were any."""
        over = [request for request, led in self.led.items() if led.session.closed]
        for request in over:
            self._take_out(place_of_request(request), request, self.led.pop(request), now)
        gone = [key for key, followed in self.followed.items() if followed.session.closed]
        for key in gone:
            self._take_out(place_of_session(key), key, self.followed.pop(key), now)
        return bool(over or gone)

    def _take_out(self, place: Hashable, number: bytes, entry: Entry, now: float) -> None:
        self._admission.leave(place, now)
        self.ended(number, entry.mode, entry.session.record)

    def _open(self) -> Iterator[Session]:
        sessions = [*(led.session for led in self.led.values()), *(one.session for one in self.followed.values())]
        return (session for session in sessions if not session.closed)


def _tick(session: Session, now: float) -> None:
    if now >= session.due_s():
        session.tick(now)


def _isolated(session: Session, act: Callable[[], T]) -> T | None:
    """Return what a session's handler returns; a fault in it ends that session alone. Raises BadMessage."""
    try:
        return act()
    except BadMessage:
        raise
    except Exception as error:  # noqa: BLE001 - it is logged, and ends one session
        session.fail(failure(error))
        return None


def stopping(side: Side) -> Unavailable:
    """Return the error that tells why a stopping side takes no more questions."""
    return Unavailable(f"the {side} daemon is stopping", "ask again when it is back")


def place_of_request(request: bytes) -> Hashable:
    """Return the key of a client's request in the table of places; it differs from every session's key."""
    return "request", request


def place_of_session(session: bytes) -> Hashable:
    """Return the key of a session of the other side in the table of places."""
    return "session", session
