"""The cloud's part: it stores what devices share, and gathers evidence from those that may know more.

Devices open no port: they are asked over the links that they have dialled. Everything runs on the main thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from math import inf
from typing import Any

import structlog

from hocket_bus.errors import HocketError
from hocket_bus.messages import (
    Evidence,
    Expire,
    Held,
    Keep,
    ListHeld,
    Message,
    NoEvidence,
    Recall,
    Recalled,
    Removed,
    Summaries,
    SummariesHeld,
    Withdraw,
)
from hocket_bus.sockets import Gone, Greeted, Received, Routes, Server

from ..monitoring.counters import Counters
from ..serving.mode import Peer
from ..serving.peers.peers import RoutePeer
from ..serving.search.gatherer import Gathered
from ..serving.search.retrieval import RetrievalClient
from .gathering import Gathering
from .members import Members
from .recalling import passed_on
from .settings import FederationSettings

EXPIRE_S = 60.0  # between two looks for devices that have no key any more, or were not there for long
DAY_S = 86_400.0
NO_GROUP = "the cloud stores no summaries of this device: add it to [federation] groups there"
log = structlog.get_logger(__name__)


class Federation:
    """The devices that share, as the cloud knows them."""

    def __init__(
        self,
        settings: FederationSettings,
        server: Server,
        retrieval: RetrievalClient,
        counters: Counters,
        lets_in: Callable[[str], bool],
    ) -> None:
        """Begin with nobody connected; `lets_in` tells whether the key of a name may pair here."""
        self._settings = settings
        self._server = server
        self._retrieval = retrieval
        self._counters = counters
        self.members = Members(settings.groups, lets_in)
        self._gatherings: dict[bytes, Gathering] = {}
        self._held: dict[str, int] = {}  # summaries by device, as last told
        self._expire_s = 0.0 if settings.groups else inf
        if keyless := self.members.keyless:
            log.warning("[federation] groups has names that are in no key", names=keyless, say="hocket keys allow")

    def add_to(self, routes: Routes) -> None:
        """Register the handlers for devices' messages."""
        routes.add([Summaries], self._on_summaries)
        routes.add([Withdraw], self._on_withdraw)
        routes.add([Recall], self._on_recall)
        routes.add([Evidence, NoEvidence], self._on_evidence)

    # --- who is there

    def on_end(self, event: Greeted | Gone) -> None:
        """Handle a device that has connected, or has gone."""
        if isinstance(event, Gone):
            name = self.members.name_at(event.route)
            self.members.gone(event.route)
            for gathering in list(self._gatherings.values()):
                gathering.on_gone(name)
        elif event.hello.role == "device" and event.user:
            self.members.here(event.user, event.route)
            self.members.back(event.route)

    def gather(
        self, peer: Peer, question: str, k: int, scorer: str, done: Callable[[Gathered | HocketError], None]
    ) -> Callable[[], None]:
        """See `Gatherer`."""
        asker = peer.user or (self.members.name_at(peer.route) if isinstance(peer, RoutePeer) else "")

        def ended(outcome: Gathered | HocketError) -> None:
            self._gatherings.pop(gathering.session, None)
            if isinstance(outcome, Gathered):
                self._counters.add(
                    "gathered_passages_total", sum(bool(one.device) for one in outcome.passages.passages)
                )
            done(outcome)

        def send(route: bytes, message: Message) -> None:
            self._counters.add("gathers_total")
            self._server.send(route, message)

        gathering = Gathering(
            question,
            k,
            asker=asker,
            members=self.members,
            settings=self._settings,
            lookups=self._retrieval.lookups(peer.user),
            send=send,
            done=ended,
        )
        self._gatherings[gathering.session] = gathering
        gathering.start(scorer)

        def close() -> None:
            self._gatherings.pop(gathering.session, None)
            gathering.close()

        return close

    def _on_evidence(self, event: Received) -> None:
        message: Any = event.message
        self.members.back(event.route)
        gathering = self._gatherings.get(message.session)
        if gathering is not None:
            gathering.on_evidence(self.members.name_at(event.route), message)

    # --- what is kept

    def _name(self, event: Received, store: str) -> str:
        """Return whose message it is, and note that its device is there; on ipc a device is named by its store."""
        name = event.user or store
        self.members.here(name, event.route)
        self.members.back(event.route)
        return name

    def _on_summaries(self, event: Received) -> None:
        message = event.message
        assert isinstance(message, Summaries)
        name = self._name(event, message.store)
        if not self.members.is_member(name):
            self._server.send(event.route, SummariesHeld(store=message.store, held=[], problem=NO_GROUP))
            return
        keep = Keep(request=os.urandom(16), device=name, store=message.store, summaries=message.summaries)
        self._keep(event, keep)

    def _on_withdraw(self, event: Received) -> None:
        """Withdraw summaries, also of a device that is in no group any more; of one without a name none are held."""
        message = event.message
        assert isinstance(message, Withdraw)
        if not (event.user or message.store):
            return
        name = self._name(event, message.store)
        keep = Keep(
            request=os.urandom(16), device=name, store=message.store, dropped=message.ids, drop_all=not message.ids
        )
        self._keep(event, keep)

    def _keep(self, event: Received, keep: Keep) -> None:
        def done(outcome: Held | HocketError) -> None:
            if isinstance(outcome, HocketError):
                log.warning("summaries not kept", device=keep.device, reason=str(outcome))
                return
            self._held[keep.device] = len(outcome.held)
            self._counters.add("summaries_total", len(keep.summaries))
            report = SummariesHeld(store=keep.store, held=outcome.held, problem=outcome.problem)
            self._server.send(event.route, report)

        self._retrieval.ask(event.user, keep, done)

    def _on_recall(self, event: Received) -> None:
        message = event.message
        assert isinstance(message, Recall)

        def done(outcome: Recalled | HocketError) -> None:
            self._server.send(event.route, passed_on(outcome, message.request))

        name = event.user or self.members.name_at(event.route)
        self._retrieval.ask(event.user, ListHeld(request=os.urandom(16), device=name, after=message.after), done)

    # --- time

    @property
    def due_s(self) -> float:
        """The time at which `tick` is next needed."""
        return min(self._expire_s, min((each.due_s for each in self._gatherings.values()), default=inf))

    def tick(self, now: float) -> None:
        """Act on what has not come in time; forget devices that may not be stored any more."""
        for gathering in list(self._gatherings.values()):
            gathering.tick(now)
        if now >= self._expire_s:
            self._expire_s = now + EXPIRE_S
            names, keep_s = sorted(self.members.known), DAY_S * self._settings.keep_days
            self._held = {name: count for name, count in self._held.items() if name in names}
            self._retrieval.ask("", Expire(request=os.urandom(16), devices=names, keep_s=keep_s), self._on_expired)

    def _on_expired(self, outcome: Removed | HocketError) -> None:
        if isinstance(outcome, Removed) and outcome.removed:
            log.info("forgotten devices", devices=outcome.removed)

    # --- how it is

    def facts(self) -> dict[str, str]:
        """Return lines for `hocket status`."""
        if not self._settings.groups:
            return {"federation": "off: [federation] groups names no devices"}
        groups = "; ".join(f"{name}: {', '.join(names)}" for name, names in self._settings.groups.items())
        keyless = f"; without a key: {', '.join(self.members.keyless)}" if self.members.keyless else ""
        return {
            "federation": f"{groups}{keyless}"[:2_000],
            "summaries held": ", ".join(f"{name} {count}" for name, count in sorted(self._held.items())) or "none yet",
        }

    def metrics(self) -> dict[str, float]:
        """Return the same facts as numbers, for programs."""
        return {"summaries_held": float(sum(self._held.values()))}
