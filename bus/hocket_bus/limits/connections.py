"""Accounting of tcp connections: whose each is, how many of its bytes wait to be read, and which must close. Pure.

This module knows no socket. Connections cannot be told apart before a first whole message: until then a connection is
mute, and only its address is known. ZeroMQ hands over whole messages and has no limit to their frames. Bytes that came
and belong to no message that was taken are waiting bytes. So a message that never ends shows as too many of them.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ..errors import HocketError, Untrusted

MAX_MUTE = 64  # connections of one address that have said nothing yet; the oldest goes
MUTE_S = 15.0  # a handshake has 12 s
MAX_MUTE_BYTES = 1 << 20  # what an address that has said nothing may let wait
MAX_UNHEARD = 32  # times that a key may be let in within UNHEARD_S and say nothing
UNHEARD_S = 60.0
MAX_OF_KEY = 128
MAX_TOPICS_OF_KEY = 256
MAX_WAITING_BYTES = 32 << 20  # what all connections of one key may let wait

MUTE = "it sent nothing"
TOO_MANY_MUTE = "too many silent connections from its address"
NO_ROOM = "too many connections"
ENDLESS = "it sends without end, or faster than it is read"
TOO_MANY_CONNECTIONS = Untrusted(f"this key has {MAX_OF_KEY} connections", "close unused ones")
TOO_MANY_TOPICS = Untrusted(f"this key subscribes to {MAX_TOPICS_OF_KEY} topics", "close unused clients")

Address = tuple[str | int, ...]  # of one end, as the system writes it
Ends = tuple[Address, Address]  # this machine's and the other's: no other connection has both

SECURED_BYTES = 33  # what CURVE adds to a frame


@dataclass(slots=True, eq=False)
class Connection:
    """A tcp connection; `user` is None while it is mute, `refusal` while it may stay.

    `reported` is the reason for which it was last refused.
    """

    number: int
    ends: Ends
    address: str
    since_s: float
    user: str | None = None
    came: int = 0  # bytes, when it was last looked at
    taken: int = 0
    refusal: HocketError | None = None
    reported: HocketError | None = None
    going: bool = False  # it was shown out
    topics: set[bytes] = field(default_factory=set)

    @property
    def waiting(self) -> int:
        """Return how many bytes came and were not taken."""
        return max(0, self.came - self.taken)


Leaving = Iterator[tuple[Connection, str]]


class Connections:
    """The connections by the number of their descriptor, which a later connection may reuse."""

    def __init__(self, room: int) -> None:
        """Allow at most `room` connections at once."""
        self._room = room
        self._all: dict[int, Connection] = {}
        self._mute: defaultdict[str, dict[int, Connection]] = defaultdict(dict)  # by address, the oldest first
        self._of: defaultdict[str, set[Connection]] = defaultdict(set)
        self._let_in: defaultdict[str, deque[float]] = defaultdict(deque)  # when, and has not been heard since

    def __len__(self) -> int:
        return len(self._all)

    def lets_in(self, user: str, now: float) -> bool:
        """Tell whether a key may connect once more; that counts as unheard until a first message of it comes."""
        times = self._let_in[user]
        while times and now - times[0] >= UNHEARD_S:
            times.popleft()
        if len(times) >= MAX_UNHEARD:
            return False
        times.append(now)
        return True

    def begin(self, number: int, ends: Ends, address: str, now: float) -> Leaving:
        """Add an accepted connection; yield those that must close for it, with the reason."""
        self.end(number)
        mute = self._mute[address]
        self._all[number] = mute[number] = Connection(number, ends, address, now)
        if len(self._all) > self._room:
            yield self._go(self._oldest_mute() or self._all[number], NO_ROOM)
        elif len(mute) > MAX_MUTE:
            yield self._go(next(iter(mute.values())), TOO_MANY_MUTE)

    def end(self, number: int) -> None:
        """Remove a connection that has closed."""
        connection = self._all.pop(number, None)
        if connection is not None:
            self._hush(connection)
            if connection.user is not None:
                self._of[connection.user].discard(connection)

    def take(self, number: int, user: str, size: int) -> Connection | None:
        """Count a message of `size` bytes from a connection and note its user; None if the connection has left."""
        connection = self._all.get(number)
        if connection is None:
            return None
        connection.taken += size
        if connection.user != user:
            self._name(connection, user)
        return connection

    def subscribe(self, connection: Connection, user: str, topic: bytes) -> None:
        """Add a topic to a connection, or refuse the connection if all those open of its key read too many."""
        read = sum(len(each.topics) for each in self._of[user])
        if topic not in connection.topics and read >= MAX_TOPICS_OF_KEY:
            connection.refusal = TOO_MANY_TOPICS
        else:
            connection.topics.add(topic)

    def look(self, came: Callable[[Connection], int], now: float) -> Leaving:
        """Note how many bytes have come over each connection; yield those that must close now, with the reason."""
        for connection in self._all.values():
            connection.came = came(connection)
        for mute in list(self._mute.values()):
            yield from self._crowded(list(mute.values()), MAX_MUTE_BYTES)
            yield from [self._go(each, MUTE) for each in list(mute.values()) if now - each.since_s > MUTE_S]
        for named in self._of.values():
            yield from self._crowded([each for each in named if not each.going], MAX_WAITING_BYTES)

    def of(self, user: str) -> list[Connection]:
        """Return one key's connections that have not been told to close."""
        return [each for each in self._of[user] if not each.going]

    def show_out(self, connection: Connection) -> None:
        """Mark a connection as closing; it counts no longer as mute."""
        connection.going = True
        self._hush(connection)

    def _crowded(self, connections: list[Connection], maximum: int) -> Leaving:
        """Yield the connections with the most waiting bytes until the others have at most `maximum` together."""
        waiting = sum(each.waiting for each in connections)
        while waiting > maximum:
            largest = max(connections, key=lambda each: each.waiting)
            connections.remove(largest)
            waiting -= largest.waiting
            yield self._go(largest, ENDLESS)

    def _go(self, connection: Connection, why: str) -> tuple[Connection, str]:
        self.show_out(connection)
        return connection, why

    def _name(self, connection: Connection, user: str) -> None:
        """Assign a connection to a user, even if leftovers of an earlier one with that number had named another."""
        if connection.user is None:
            if times := self._let_in[user]:
                times.popleft()
        else:
            self._of[connection.user].discard(connection)
        connection.user = user
        self._of[user].add(connection)
        self._hush(connection)
        if len(self._of[user]) > MAX_OF_KEY:
            connection.refusal = TOO_MANY_CONNECTIONS

    def _hush(self, connection: Connection) -> None:
        """Remove a connection from the mute ones."""
        mute = self._mute[connection.address]
        mute.pop(connection.number, None)
        if not mute:
            del self._mute[connection.address]

    def _oldest_mute(self) -> Connection | None:
        maximum = max(self._mute.values(), key=len, default={})
        return next(iter(maximum.values()), None)
