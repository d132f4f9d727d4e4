"""The modes `graph` and `auto`: a question goes home, to the pair, or to the devices of a group.

`auto` asks the gate first, `graph` always the devices; what they lead is an aggregation either way, and its Reply is
handed on to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from hocket_bus.errors import BadRequest, HocketError
from hocket_bus.messages import AggregationOptions, Ask, GateDecision

from ..aggregation.leader_terms import options_of
from ..aggregation.mode import AggregationMode
from ..aggregation.settings import GroupSettings
from ..graph import calibration_file
from ..graph.gates import AnswersGate, EvidenceGate, Gate
from ..graph.settings import GateSettings
from ..monitoring.counters import Counters
from ..serving.mode import Peer, Session
from ..serving.peers.peer_group import PeerGroup
from ..serving.search.follow_up import Found
from ..serving.services import Services
from ..serving.sessions.deferred import DeferredSession
from ..serving.stream.reply import Reply
from ..serving.stream.routing import Route

ALWAYS = "the devices are always asked in this mode"
REQUIRED = "the cloud is required"
NO_OTHER_SIDE = GateDecision(decision="home", metric=0.0, threshold=0.0, reason="no other side takes part")


@dataclass(frozen=True, slots=True)
class Group:
    """The other devices, and how they take part; there are none without a group."""

    settings: GroupSettings
    peer_group: Callable[[], PeerGroup | None]


class GraphMode:
    """The mode `graph`: every question goes beyond home, in an aggregation's session."""

    name = "graph"

    def __init__(self, aggregation: AggregationMode, services: Services, group: Group) -> None:
        self._aggregation = aggregation
        self._services = services
        self._group = group

    def check(self, ask: Ask) -> None:
        """Check a question as an aggregation does; nobody is asked alone here, and named members draft along.

        Raises BadRequest.
        """
        options = options_of(ask)
        self._aggregation.check(msgspec.structs.replace(ask, options=msgspec.structs.replace(options, members=[])))
        if options.alone:
            raise BadRequest(f"mode {self.name} also asks other devices", "ask alone in mode aggregation")
        if len(set(options.members)) < len(options.members):
            raise BadRequest("a member is named twice", "name each once")
        if self._drafts(ask) and options.method != "coupled":
            raise BadRequest(f"{options.method} cannot aggregate a group's drafts", "leave the method out")

    def rows(self, ask: Ask) -> int:
        """Return the rows that an aggregation needs."""
        return self._aggregation.rows(ask)

    def begin(self, ask: Ask, reply: Reply, peer: Peer | None) -> Session:
        """Lead an aggregation in which the cloud reads what devices know."""
        reply.route = Route(None, home=False, why=ALWAYS)
        return self._beyond(ask, reply, peer)

    def _drafts(self, ask: Ask) -> bool:
        """Tell whether other devices send drafts for the question."""
        return ask.documents != 0 and (self._group.settings.with_ != "passages" or bool(options_of(ask).members))

    def _beyond(self, ask: Ask, reply: Reply, peer: Peer | None) -> Session:
        """Begin an aggregation with others: with their drafts, or with their passages, which the cloud reads."""
        peer_group = self._group.peer_group()
        if options_of(ask).members and (peer is None or peer_group is None):
            reply.notice("no cloud is configured through which to reach other devices: answering alone")
        if peer is None or peer_group is None or not self._drafts(ask):
            return self._aggregation.begin(ask, reply, peer, escalates=True)
        return self._aggregation.begin_group(ask, reply, peer, peer_group, self._group.settings)


class AutoMode(GraphMode):
    """The mode `auto`: the gate decides whether a question goes beyond home."""

    name = "auto"

    def __init__(self, aggregation: AggregationMode, services: Services, group: Group, settings: GateSettings) -> None:
        super().__init__(aggregation, services, group)
        self._settings = settings
        self._calibration = calibration_file.load(settings.calibration)

    def begin(self, ask: Ask, reply: Reply, peer: Peer | None) -> Session:
        """Search at home, then decide."""

        def decided(gate: GateDecision) -> Session:
            home = gate.decision == "home" and not _requires_cloud(ask)
            reply.route = Route(gate, home=home, why=gate.reason if home or gate.decision != "home" else REQUIRED)
            reply.ask = _alone(ask) if home else ask
            return self._aggregation.begin(reply.ask, reply, peer) if home else self._beyond(reply.ask, reply, peer)

        gating = Gating(ask, reply, self._services, self._gate(), decided)
        gating.start(self._settings.passages, there=peer is not None)
        return gating

    def rows(self, ask: Ask) -> int:
        """Return the rows that an aggregation needs, or the candidates, which are written before it."""
        candidates = self._settings.candidates if self._settings.gate == "answers" else 0
        return max(super().rows(ask), candidates)

    def _gate(self) -> Gate:
        if self._settings.gate == "answers":
            return AnswersGate(self._services, self._settings.candidates)
        return EvidenceGate(self._calibration)


class Gating(DeferredSession):
    """A session that becomes another one once the gate has decided."""

    def __init__(
        self,
        ask: Ask,
        reply: Reply,
        services: Services,
        gate: Gate,
        decided: Callable[[GateDecision], Session],
    ) -> None:
        super().__init__(ask, reply)
        self._decided, self._gate = decided, gate
        self._lookups = services.retrieval.lookups(reply.user)
        self._counters: Counters = services.counters

    def start(self, passages: int, *, there: bool) -> None:
        """Search at home, or decide at once if there is no other side, which `there` says."""
        if there:
            self._lookups.find(self._ask.prompt, passages, self._on_found, within=self._ask.within)
        else:
            self._go(NO_OTHER_SIDE)

    def _on_found(self, outcome: Found | HocketError) -> None:
        if isinstance(outcome, HocketError):
            self.fail(outcome)
        else:
            self._gate.decide(outcome.text, outcome.passages, self._lookups, self._go)

    def _go(self, gate: GateDecision) -> None:
        if not self._closed:
            self._counters.add("gate_total", decision=gate.decision)
            self._become(lambda: self._decided(gate))

    def _stop(self) -> None:
        self._gate.close()
        self._lookups.close()


def _requires_cloud(ask: Ask) -> bool:
    return isinstance(ask.options, AggregationOptions) and ask.options.require_cloud


def _alone(ask: Ask) -> Ask:
    options = ask.options if isinstance(ask.options, AggregationOptions) else AggregationOptions()
    return msgspec.structs.replace(ask, options=msgspec.structs.replace(options, alone=True))
