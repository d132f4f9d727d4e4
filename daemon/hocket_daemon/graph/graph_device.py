"""A device's part in its group: it shares summaries, answers with evidence, and lists what the cloud holds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from math import inf

from hocket_bus.errors import DeadlineExceeded, Forbidden, HocketError, Unavailable
from hocket_bus.faults import error_message, raised
from hocket_bus.messages import (
    Error,
    Gather,
    ListShared,
    Message,
    Recall,
    Recalled,
    Removed,
    StopSharing,
    SummariesHeld,
)
from hocket_bus.sockets import Received, Routes, Server

from ..privacy.egress import EgressSettings
from ..serving.mode import Peer
from ..serving.search.retrieval import RetrievalClient
from .answering import Answering
from .recalling import passed_on
from .sharing import Sharing

RECALL_S = 10.0


class GraphDevice:
    """The graph's part of a device daemon. Everything runs on the main thread."""

    def __init__(
        self, retrieval: RetrievalClient, server: Server, peer: Peer | None, egress: EgressSettings, *, minimum: float
    ) -> None:
        """Set up sharing with `peer`; without one there is nobody to share with."""
        self._server, self._peer = server, peer
        self._sharing = Sharing(retrieval, self._send, allowed=egress.summaries)
        self._answering = Answering(retrieval, self._send, allowed=egress.evidence, minimum=minimum)
        self._recalls: dict[bytes, tuple[float, Callable[[Recalled | HocketError], None]]] = {}

    def add_to(self, at_server: Routes, at_peer: Routes) -> None:
        """Register the handlers for messages of clients and of the cloud."""
        at_server.add([ListShared], self._on_list)
        at_server.add([StopSharing], self._on_stop)
        at_peer.add([Gather], self._answering.on_gather)
        at_peer.add([SummariesHeld], self._on_held)
        at_peer.add([Recalled, Error], self._on_recalled)

    def on_peer(self, up: bool) -> None:
        """Note that the cloud can be reached from now on, or cannot."""
        self._sharing.on_peer(up, time.monotonic())

    @property
    def due_s(self) -> float:
        """The time at which `tick` is next needed."""
        return min(self._sharing.due_s, min((until_s for until_s, _ in self._recalls.values()), default=inf))

    def tick(self, now: float) -> None:
        """Look at the graph; end what has not come in time."""
        self._sharing.tick(now)
        for request, (until_s, done) in list(self._recalls.items()):
            if now >= until_s:
                del self._recalls[request]
                done(DeadlineExceeded(f"the cloud has not answered within {RECALL_S:g} s", "ask again"))

    def facts(self) -> dict[str, str]:
        """Return a line for `hocket status`."""
        return {"shared summaries": self._sharing.fact} if self._peer is not None else {}

    def metrics(self) -> dict[str, float]:
        """Return the same facts as numbers, for programs."""
        current, own = self._sharing.counts
        return {
            "summaries_sent_total": float(self._sharing.sent_total),
            "summaries_own": float(own),
            "summaries_current": float(current),
            "evidence_passages_total": float(self._answering.passages_total),
        }

    def _send(self, message: Message) -> None:
        """Send to the cloud if it is up; what does not reach it is lost, and asked for again."""
        if self._peer is not None and self._peer.up:
            self._peer.send(message)

    def _on_held(self, event: Received) -> None:
        assert isinstance(event.message, SummariesHeld)
        self._sharing.on_held(event.message, time.monotonic())

    def _on_list(self, event: Received) -> None:
        asked = event.message
        assert isinstance(asked, ListShared)

        def done(outcome: Recalled | HocketError) -> None:
            self._server.send(event.route, passed_on(outcome, asked.request))

        try:
            self._recall(asked.after, done)
        except HocketError as error:
            done(error)

    def _recall(self, after: int, done: Callable[[Recalled | HocketError], None]) -> None:
        if self._peer is None or not self._peer.up:
            raise Unavailable("the cloud is not connected, so what it holds is not known", "ask when it is back")
        request = os.urandom(16)
        self._recalls[request] = time.monotonic() + RECALL_S, done
        self._peer.send(Recall(request=request, after=after))

    def _on_recalled(self, event: Received) -> None:
        message = event.message
        assert isinstance(message, Recalled | Error)
        _, done = self._recalls.pop(message.request, (0.0, None))
        if done is not None:
            done(raised(message) if isinstance(message, Error) else message)

    def _on_stop(self, event: Received) -> None:
        asked = event.message
        assert isinstance(asked, StopSharing)
        held = len(self._sharing.held)
        try:
            if self._peer is None or not self._peer.up:
                raise Unavailable(
                    "the cloud is not connected, so nothing can be withdrawn", "try again when it is back"
                )
            self._sharing.stop()
        except (Unavailable, Forbidden) as error:
            self._server.send(event.route, error_message(error, asked.request))
        else:
            self._server.send(event.route, Removed(request=asked.request, removed=held, missing=[]))
