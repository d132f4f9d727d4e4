"""What clients send while they compose: a text is opened, changed and closed."""

from __future__ import annotations

import time
from collections import Counter
from functools import cached_property
from typing import Protocol

from hocket_bus.errors import BadRequest, HocketError
from hocket_bus.faults import error_message
from hocket_bus.messages import Behind, Cancel, Compose, Edit
from hocket_bus.sockets import Received, Routes, Server

from ..serving.mode import Peer
from ..serving.services import Services
from ..serving.sessions import Sessions, place_of_request
from .pieces import Pieces
from .redaction import Redaction
from .session import COUNTED, Composing
from .settings import CompositionSettings

NAME = "composition"
ROWS = 2  # one that is read, and one that is made ready


class Host(Protocol):
    """The daemon, as far as composing knows it."""

    def check_taking(self) -> None:
        """Raises Unavailable while it is stopping."""

    def memory_peer(self) -> Peer | None:
        """The cloud, where memory may be asked of it."""


class Desk:
    """Clients' texts on this device."""

    def __init__(
        self,
        host: Host,
        services: Services,
        server: Server,
        sessions: Sessions,
        settings: CompositionSettings,
        *,
        why: str,
    ) -> None:
        """`why` the voice of `services` composes; empty where there was no choice. Raises BadConfiguration."""
        self._by = f"{services.voice.name} ({why})" if why else services.voice.name
        self._host = host
        self._services = services
        self._server = server
        self._sessions = sessions
        self._settings = settings
        self._redact = Redaction(settings.redact)
        self._open: dict[bytes, Composing] = {}
        self._closed: Counter[str] = Counter()  # what was counted of texts that are closed

    def add_to(self, routes: Routes) -> None:
        """Take what clients send."""
        routes.add([Compose], self._on_compose)
        routes.add([Edit], self._on_edit)
        routes.add([Cancel], self._on_cancel)

    def facts(self) -> dict[str, str]:
        """A line for `hocket status`."""
        sums = self._sums()
        passes = sums["passes"] / max(1, sums["computed"])
        opened = sum(not each.closed for each in self._open.values())
        return {
            "composition": f"{opened} text(s) open, by {self._by}; {sums['suggestions']} suggestions, "
            f"{sums['computed']} of them computed in {passes:.1f} passes each; "
            f"{sums['memory_requests']} requests for memory"
        }

    def metrics(self) -> dict[str, float]:
        """The same for programs, as counts since the start."""
        sums = self._sums()
        return {f"composition_{name}_total": float(sums[name]) for name in COUNTED}

    def _sums(self) -> Counter[str]:
        return sum((Counter(each.counted) for each in self._open.values()), self._closed)

    def on_peer(self, up: bool, reason: HocketError | None) -> None:
        """The cloud can be reached from now on, or cannot, where no question may be answered with it."""
        for composing in self._open.values():
            composing.on_peer(up, reason)

    @property
    def at_rest(self) -> int:
        """Open texts whose writers do something else."""
        return sum(each.rests for each in self._open.values() if not each.closed)

    def tick(self, client_silence_s: float) -> None:
        """Close the texts of clients that have said nothing for so long."""
        for composing in list(self._open.values()):
            if self._server.silence_s(composing.route) > client_silence_s:
                composing.cancel()
        self._forget()

    @cached_property
    def _pieces(self) -> Pieces:
        return Pieces(self._services.voice)

    def _on_compose(self, event: Received) -> None:
        message = event.message
        assert isinstance(message, Compose)
        self._forget()
        try:
            composing = self._find(message.request, event)
            if composing is None:
                self._begin(message, event)
            else:
                composing.whole(message)
        except HocketError as error:
            self._refuse(error, message.request, event)

    def _begin(self, message: Compose, event: Received) -> None:
        now, place = time.monotonic(), place_of_request(message.request)
        self._host.check_taking()
        if message.request in self._open:
            raise BadRequest("that text is another client's", "choose its number at random")
        self._services.admission.enter(place, event.user, ROWS, now)
        try:
            composing = Composing(
                message,
                self._services,
                settings=self._settings,
                redact=self._redact,
                pieces=self._pieces,
                peer=self._host.memory_peer(),
                user=event.user,
                route=event.route,
                send=self._server.send,
                publish=self._server.publish,
            )
        except Exception:
            self._services.admission.leave(place, now)
            raise
        self._open[message.request] = composing
        self._sessions.lead(message.request, NAME, composing)
        composing.start()

    def _on_edit(self, event: Received) -> None:
        edit = event.message
        assert isinstance(edit, Edit)
        composing = self._find(edit.request, event)
        try:
            if composing is None:
                self._server.send(event.route, Behind(request=edit.request))
            else:
                composing.edit(edit)
        except HocketError as error:
            self._refuse(error, edit.request, event)

    def _on_cancel(self, event: Received) -> None:
        cancel = event.message
        assert isinstance(cancel, Cancel)
        composing = self._find(cancel.request, event)
        if composing is not None:
            composing.cancel()

    def _refuse(self, error: HocketError, request: bytes, event: Received) -> None:
        self._services.counters.add("errors_total", kind=error.code)
        self._server.send(event.route, error_message(error, request))

    def _find(self, request: bytes, event: Received) -> Composing | None:
        """The open text of the sender of `event`, who is reached where that came from."""
        composing = self._open.get(request)
        if composing is None or composing.closed or composing.user != event.user:
            return None
        composing.route = event.route
        return composing

    def _forget(self) -> None:
        for request, each in list(self._open.items()):
            if each.closed:
                self._closed.update(each.counted)
                del self._open[request]
