"""Every session of a daemon in one table: those that clients asked for, and those that the other side has opened."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import Message, Side

from .admission import Admission
from .mode import Facts, FollowedSession, Peer, Session

READING_S = 600.0  # what the other side may take to read a prompt


@dataclass(slots=True)
class Led:
    """A session that this side leads, for a client."""

    mode: str
    session: Session


@dataclass(slots=True)
class Followed:
    """A session that the other side leads, and when it was last heard of there."""

    mode: str
    session: FollowedSession
    peer: Peer
    began_s: float
    heard_s: float = field(init=False)
    spoken: bool = False  # the other side has said something of it since it was opened

    def __post_init__(self) -> None:
        self.heard_s = self.began_s

    def may_be_reading(self, now: float, silence_s: float) -> bool:
        """The other side says nothing while it reads its prompt, but its link lives."""
        return not self.spoken and now - self.began_s < READING_S and self.peer.silence_s <= silence_s


Entry = Led | Followed


class Sessions:
    """Places are promised before a session is put in, and given back when it is taken out."""

    def __init__(
        self, admission: Admission, silence_s: float, ended: Callable[[bytes, str, Callable[[], Facts]], None]
    ) -> None:
        """`silence_s` is how long the other side may say nothing of a session that it leads.

        `ended` is told the number, the mode and the record of each session that is over.
        """
        self._admission = admission
        self._silence_s = silence_s
        self._ended = ended
        self.led: dict[bytes, Led] = {}  # by the request's number
        self.followed: dict[bytes, Followed] = {}  # by the session's

    def __len__(self) -> int:
        return len(self.led) + len(self.followed)

    def lead(self, request: bytes, mode: str, session: Session) -> None:
        """Put in what a client asked for."""
        self.led[request] = Led(mode, session)

    def follow(self, mode: str, session: FollowedSession, peer: Peer, now: float) -> None:
        """Put in what the other side has opened."""
        self.followed[session.id] = Followed(mode, session, peer, now)

    def led_as(self, session: bytes) -> Session | None:
        """The open session that this side leads under that number."""
        found = (entry.session for entry in self.led.values() if entry.session.id == session)
        return next((each for each in found if not each.closed), None)

    def followed_as(self, session: bytes, user: str) -> Followed | None:
        """The session that `user` leads under that number."""
        entry = self.followed.get(session)
        return entry if entry is not None and entry.peer.user == user else None

    def on_peer(self, up: bool, reason: HocketError | None) -> None:
        """Tell every session that this side leads how the other side is."""
        for entry in list(self.led.values()):
            if not entry.session.closed:
                entry.session.on_peer(up, reason)

    def hear(self, entry: Followed, message: Message, now: float) -> None:
        """A message about a session of the other side's. Raises BadMessage."""
        entry.heard_s, entry.spoken = now, True
        if not entry.session.closed:
            entry.session.receive(message)

    def stop(self, side: Side) -> None:
        """This side stops: its clients may ask again, other sides go on without it."""
        for led in list(self.led.values()):
            if not led.session.closed:
                led.session.fail(stopping(side))
        for followed in list(self.followed.values()):
            if not followed.session.closed:
                followed.session.fail(Unavailable(f"the {side} is stopping", "it takes part again when it is back"))

    def due_s(self) -> float:
        """When `tick` is next needed."""
        silent = (entry.heard_s + self._silence_s for entry in self.followed.values())
        return min([session.due_s() for session in self._open()] + list(silent), default=float("inf"))

    def tick(self, now: float) -> None:
        """Act on what has not come in time; sessions of another side that says nothing end."""
        for session in self._open():
            if now >= session.due_s():
                session.tick(now)
        for entry in self.followed.values():
            if now - entry.heard_s <= self._silence_s or entry.session.closed:
                continue
            if entry.may_be_reading(now, self._silence_s):
                entry.heard_s = now
            else:
                entry.session.close()

    def sweep(self, now: float) -> bool:
        """Take out what is over; whether there was any."""
        over = [request for request, led in self.led.items() if led.session.closed]
        for request in over:
            self._take_out(place_of_request(request), request, self.led.pop(request), now)
        gone = [key for key, followed in self.followed.items() if followed.session.closed]
        for key in gone:
            self._take_out(place_of_session(key), key, self.followed.pop(key), now)
        return bool(over or gone)

    def _take_out(self, place: Hashable, number: bytes, entry: Entry, now: float) -> None:
        self._admission.leave(place, now)
        self._ended(number, entry.mode, entry.session.record)

    def _open(self) -> Iterator[Session]:
        sessions = [*(led.session for led in self.led.values()), *(one.session for one in self.followed.values())]
        return (session for session in sessions if not session.closed)


def stopping(side: Side) -> Unavailable:
    """Why a side that stops takes no more questions."""
    return Unavailable(f"the {side} daemon is stopping", "ask again when it is back")


def place_of_request(request: bytes) -> Hashable:
    """Under which a client's request holds its place: no session's, whatever numbers either chooses."""
    return "request", request


def place_of_session(session: bytes) -> Hashable:
    """Under which a session of the other side's holds its place."""
    return "session", session
