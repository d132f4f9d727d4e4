"""Messages of other daemons about sessions that they lead here: opened, continued and ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from hocket_bus.errors import BadMessage, HocketError
from hocket_bus.messages import Message
from hocket_bus.sockets import Received, Routes, Server

from ..mode import Peer, Peers
from ..services import Services
from ..sessions.sessions import Sessions, place_of_session
from .peers import RoutePeer


class Openings:
    """The sessions on this side that others lead."""

    def __init__(
        self,
        services: Services,
        server: Server,
        sessions: Sessions,
        modes: Mapping[str, Peers],
        check_taking: Callable[[], None],
    ) -> None:
        """Sort message types by mode; `check_taking` raises Unavailable while the daemon is stopping."""
        self._services = services
        self._server = server
        self._sessions = sessions
        self._openers = {kind: mode for mode in modes.values() for kind in mode.opens}
        self._taken = {kind for mode in modes.values() for kind in mode.takes}
        self._ending = {kind for mode in modes.values() for kind in mode.ends}
        self._check_taking = check_taking

    def add_to(self, routes: Routes) -> None:
        """Register the handlers for devices' messages."""
        routes.add([*self._openers, *self._taken, *self._ending], self._on_event)

    def take(self, message: Message, peer: Peer) -> None:
        """Handle any message of `peer`; one about a session that is not open, or not its own, is dropped.

        Raises BadMessage for one that cannot be read, or that no session takes.
        """
        kind = type(message)
        if kind in self._openers:
            self._on_opening(message, peer)
            return
        if kind not in self._taken | self._ending:
            raise BadMessage(f"a {kind.__name__} that no session expects")
        entry = self._sessions.followed_as(_session_of(message), peer.user)
        if entry is None:
            return
        if kind in self._ending:
            self._sessions.on_end(entry, message)
            self._sessions.sweep(time.monotonic())
        else:
            self._sessions.on_message(entry, message, time.monotonic())

    def follows(self, session: bytes, user: str) -> bool:
        """Tell whether a session that `user` leads is open here."""
        entry = self._sessions.followed_as(session, user)
        return entry is not None and not entry.session.closed

    def drop(self, session: bytes, user: str) -> None:
        """Close a session whose other side has gone."""
        if self.follows(session, user):
            self._sessions.followed[session].session.close()

    def _on_event(self, event: Received) -> None:
        try:
            self.take(event.message, RoutePeer(self._server, event.route, event.user))
        except BadMessage as error:
            self._server.malformed(event.route, event.user, error)

    def _on_opening(self, opening: Message, peer: Peer) -> None:
        mode, session, now = self._openers[type(opening)], _session_of(opening), time.monotonic()
        known = self._sessions.followed.get(session)
        if known is not None and not known.session.closed:
            if known.peer.user == peer.user:
                known.peer = peer
                known.session.reopen(opening, peer)
            return
        try:
            self._open(mode, opening, peer, now)
        except HocketError as error:
            self._services.counters.add("errors_total", kind=error.code)
            peer.send(mode.refusal(opening, error))

    def _open(self, mode: Peers, opening: Message, peer: Peer, now: float) -> None:
        admission, place = self._services.admission, place_of_session(_session_of(opening))
        self._check_taking()
        self._sessions.tick(now)
        self._sessions.sweep(now)
        rows = mode.rows_of(opening)
        admission.enter(place, peer.user, rows, now)
        try:
            self._sessions.follow(mode.name, mode.accept(opening, peer), peer, rows, now)
        except Exception:
            admission.leave(place, now)
            raise


def _session_of(message: Message) -> bytes:
    """Return the number of the session that a message names, as every message of a mode does."""
    named: Any = message
    number: bytes = named.session
    return number
