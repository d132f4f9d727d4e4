"""Admission to this machine's tcp servers: which connections are let in, how much each sends, and which are closed.

ipc has no such limits: whoever may write to its folder is let in.
"""

from __future__ import annotations

import ipaddress
import resource
import struct
import time
from collections import deque
from dataclasses import dataclass

import structlog
import zmq

from hocket_bus.errors import HocketError, Untrusted
from hocket_bus.limits.connections import ENDLESS, Connection, Connections, Ends
from hocket_bus.limits.shares import REFUSED_S, Shares
from hocket_bus.log import RateLimitedLog

from .curve import GONE, user_of
from .descriptors import ends_of, hang_up, received
from .incoming import Incoming

EVENTS = zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED
POLL_S = 0.1
SOURCES_WAIT_S = 1.0  # two pings: so long who is refused is told why, by an answer to what comes
MAX_CONNECTIONS = 4_096
_EVENT = struct.Struct("=Hi")

NO_END = Untrusted(f"{ENDLESS}; this key is refused for {REFUSED_S:.0f} s", "check what else uses this key")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A message that is not taken; `first` means that its sender has not been told why."""

    error: HocketError
    first: bool


class ConnectionLimits:
    """Enforcement of each key's limits. Everything here runs in the loop of the bus."""

    def __init__(self) -> None:
        # The other half is for files, and for connections that come faster than they are looked at.
        room = min(MAX_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        self.hung_up = RateLimitedLog(log, "hung up")
        self._connections = Connections(room)
        self._shares = Shares()
        self._look_s = 0.0
        self._leaving: deque[tuple[float, Connection, str]] = deque()

    @property
    def due_s(self) -> float:
        """Return when `look` is next needed; infinite while nobody is connected."""
        return self._look_s if len(self._connections) else float("inf")

    def lets_in(self, user: str) -> bool:
        """Tell whether an allowed key may connect now."""
        now = time.monotonic()
        return self._shares.refusal(user, now) is None and self._connections.lets_in(user, now)

    def on_event(self, frames: list[bytes]) -> None:
        """Process an event of a bound socket's monitor."""
        event, number = _EVENT.unpack(frames[0])
        if event == zmq.EVENT_DISCONNECTED:
            self._connections.end(number)
        elif (ends := ends_of(number)) is not None:
            for leaving in self._connections.begin(number, ends, _network(ends), time.monotonic()):
                self._hang_up(*leaving)

    def refuses(self, message: Incoming, *, topics: bool) -> Refusal | None:
        """Count a message, one that begins or ends a subscription with `topics`; return a Refusal if not taken."""
        last = message.frames[-1]
        user, now = user_of(last), time.monotonic()
        if user == GONE:
            return None
        error = self._shares.spend(user, message.size, message.number, now, topics=topics)
        connection = self._connections.take(last.get(zmq.SRCFD), user, message.size)
        if connection is None:  # it has left meanwhile
            return None if error is None else Refusal(error, first=False)
        if topics and error is None:
            self._note_topic(connection, user, message.frames[0].bytes)
        if error is None and connection.refusal is not None:
            error = connection.refusal
            if error is not connection.reported:
                self._leaving.append((now + SOURCES_WAIT_S, connection, error.text))
        if topics and error is not None and not connection.going:  # who subscribes cannot be told
            self._hang_up(connection, error.text)
        first, connection.reported = error is not connection.reported, error
        return None if error is None else Refusal(error, first)

    def malformed(self, user: str) -> bool:
        """Count a malformed message; tell whether its key is refused from now on."""
        return self._shares.malformed(user, time.monotonic())

    def look(self, now: float) -> None:
        """Close the connections that exceed their limits."""
        if now < self.due_s:
            return
        self._look_s = now + POLL_S
        for connection, why in self._connections.look(_came, now):
            if why == ENDLESS and connection.user is not None:
                self._shares.refuse(connection.user, NO_END, now)
            self._hang_up(connection, why)
        for user in self._shares.refused_for(SOURCES_WAIT_S, now):
            for connection in self._connections.of(user):
                self._hang_up(connection, "its key is refused")
        while self._leaving and self._leaving[0][0] <= now:
            self._hang_up(*self._leaving.popleft()[1:])

    def _note_topic(self, connection: Connection, user: str, frame: bytes) -> None:
        if frame[:1] == b"\x01":
            self._connections.subscribe(connection, user, frame[1:])
        else:
            connection.topics.discard(frame[1:])

    def _hang_up(self, connection: Connection, why: str) -> None:
        self.hung_up.note(address=connection.address, user=connection.user, why=why)
        self._connections.show_out(connection)
        hang_up(connection.number, connection.ends)


def _came(connection: Connection) -> int:
    return received(connection.number, connection.ends) or connection.came


def _network(ends: Ends) -> str:
    """Return the address of the other end; for IPv6 its /64 network, since one host may have all of its addresses."""
    address = ipaddress.ip_address(str(ends[1][0]).partition("%")[0])
    if address.version == 4:
        return str(address)
    return str(address.ipv4_mapped or ipaddress.ip_network((address, 64), strict=False))
