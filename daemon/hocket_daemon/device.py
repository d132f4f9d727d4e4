"""The device daemon: answers its clients together with the cloud."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import structlog
from msgspec import structs

from hocket_bus import config, log
from hocket_bus.endpoints import check_endpoint
from hocket_bus.errors import HocketError, ProtocolError
from hocket_bus.messages import Hello
from hocket_bus.sockets import Link, LinkDown, LinkUp

from .config import DeviceSettings
from .daemon import Daemon
from .engine.catalog.engines import open_model
from .engine.generators.generator import TextGenerator
from .engine.generators.openai import open_server
from .engine.generators.server import server_of
from .engine.runtime.compute import Compute
from .graph.graph_device import GraphDevice
from .modes import composing, composition
from .monitoring.counters import labelled
from .parts import PRODUCT, Parts
from .privacy.egress import NEEDED, TO_REMEMBER, TO_SHARE, PeerGate, fact, obstacle
from .profiling.decode_times import link_fact, network_facts
from .serving.mode import Peer
from .serving.peers import Unlinked
from .serving.services import Services

logger = structlog.get_logger(__name__)


class DeviceDaemon(Daemon):
    """Keeps a link to the cloud and hands its messages to the sessions that this side leads."""

    def __init__(self, settings: DeviceSettings, parts: Parts = PRODUCT) -> None:
        self._cloud = settings.cloud
        self._egress = settings.egress
        self._own_settings = settings
        self._missed = ""  # why the cloud was not there last, as it was logged
        if settings.cloud:
            check_endpoint(settings.cloud)
        server_of(settings.server)  # a wrong one is told before a model is loaded
        super().__init__(settings, "device", parts, shares_drafts=settings.egress.drafts)

    def connect(self) -> None:
        """Dial the cloud, unless there is none or nothing may leave; take what clients compose."""
        hindered = [obstacle(self._egress, needed) for needed in (NEEDED, TO_REMEMBER, TO_SHARE)]
        self._link = self._dial() if self._cloud and None in hindered else None
        # Who may share no summaries tells the cloud that, if it is connected for anything else.
        sharing = None if self._link is not None else hindered[2]
        self._peer, self._memory_peer, sharing_peer = map(self._cloud_for, (*hindered[:2], sharing))
        self._graph = GraphDevice(
            self.services.retrieval,
            self.server,
            sharing_peer,
            self._egress,
            minimum=self.settings.aggregation.min_evidence,
        )
        self._graph.add_to(self.at_server, self.at_peer)
        self.duties.append(self._graph)
        name, why = composing(self._own_settings, self.services.model)
        services = self._composing(name, why)
        self._composition = composition(self, services, self.server, self.sessions, self._own_settings, why=why)
        self._composition.add_to(self.at_server)
        for mode in self.modes.peers.values():
            self.at_peer.add(mode.answers, self.sessions.on_answer)
        self.board.add_for_users(facts=[self._cloud_facts])
        self.board.add(facts=[lambda: network_facts(self._cloud)], metrics=[self._cloud_metrics])
        self.board.add(facts=[self._composition.facts], metrics=[self._composition.metrics])
        self.board.add(facts=[self._graph.facts], metrics=[self._graph.metrics])

    def _composing(self, name: str, why: str) -> Services:
        """The services of texts that are composed: a model and a thread of their own, where a model is named."""
        if why:
            logger.info("composition", model=name or self.services.model.name, why=why)
        if not name:
            return self.services
        model = open_model(structs.replace(self.settings.model, name=name, engine="auto"), "device")
        compute = Compute(self.bus.post, model.read)
        self._opened.callback(compute.close)
        return replace(self.services, model=model, compute=compute)

    def open_server(self) -> TextGenerator | None:
        """The one of [server]."""
        return open_server(self.settings.server, self.bus.post, self._egress, self.ledger)

    def peer(self) -> Peer | None:
        """The cloud, where one is configured."""
        return self._peer

    def memory_peer(self) -> Peer | None:
        """The same, for what may be asked of it while a text is composed."""
        return self._memory_peer

    def _cloud_for(self, hindered: HocketError | None) -> Peer | None:
        if not self._cloud:
            return None
        return self._link if hindered is None else Unlinked(hindered)

    def _dial(self) -> Link:
        hello = Hello(role="device", tokenizer=self.services.model.fingerprint, name=self.settings.name)
        gate = PeerGate(self._egress, self._cloud, self.ledger)
        return self.bus.dial(self._cloud, hello, gate=gate, takes=self.at_peer)

    def idle(self) -> bool:
        """A text that stays open in an editor is no work."""
        return len(self.sessions) <= self._composition.at_rest

    def tick(self, now: float) -> None:
        """Close texts whose clients have gone, too."""
        super().tick(now)
        self._composition.tick(self.settings.client_silence_s)

    def on_peer_link(self, event: LinkUp | LinkDown) -> None:
        """Tell every session, and the texts that are composed."""
        assert self._link is not None
        reason = None if isinstance(event, LinkUp) else event.reason
        self._graph.on_peer(isinstance(event, LinkUp))
        if isinstance(event, LinkUp):
            logger.info("cloud connected", rtt_ms=round(self._link.rtt_s * 1000, 2), model=event.welcome.model)
        elif str(reason) != self._missed:  # not at every attempt of a laptop that is on the road
            logger.warning("cloud not connected", reason=str(reason))
        self._missed = "" if reason is None else str(reason)
        if obstacle(self._egress) is None:
            self.sessions.on_peer(reason is None, reason)
        else:
            self._composition.on_peer(reason is None, reason)

    def _cloud_facts(self, user: str) -> dict[str, str]:
        server = server_of(self.settings.server) if self.services.server is not None else None
        asked = {"server": f"{server.place}, asked by dispatch in the cloud's place"} if server is not None else {}
        return {"cloud": self._cloud_fact(user), **asked, "leaves this device": fact(self._egress)}

    def _cloud_fact(self, user: str) -> str:
        """What the link tells of others' requests in the cloud is for no user."""
        if self._link is None:
            return "not used" if self._cloud else "none configured"
        if user:
            return "connected" if self._link.up else "not connected"
        why = f" ({self._link.reason})" if isinstance(self._link.reason, ProtocolError) else ""
        return link_fact(self._link) + why

    def _cloud_metrics(self) -> dict[str, float]:
        sums = dict(self.ledger.sums)
        sent = {labelled("sent_bytes_total", **{"class": kind}): float(size) for kind, size in sums.items()}
        if self._link is None or not self._link.up:
            return sent
        return sent | {"rtt_s": self._link.rtt_s, "rtt_average_s": self._link.round_trip.average}


def main(path: Path, parts: Parts = PRODUCT) -> None:
    """Run the device daemon in the foreground with the configuration file `path`."""
    settings = config.load(path, DeviceSettings)
    log.setup(settings.log_level, settings.log_format)
    DeviceDaemon(settings, parts).run()
