"""The cloud daemon: takes part in the sessions of devices, and answers clients of its own alone."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from hocket_bus import config, log
from hocket_bus.endpoints import is_tcp
from hocket_bus.faults import notice_text
from hocket_bus.messages import Drain, Drained, Error, Hello, Welcome
from hocket_bus.sockets import Gone, Greeted, Received

from ..config import CloudSettings
from ..engine.settings import Engine
from ..graph.federation import Federation
from ..graph.relay import Relay
from ..privacy.egress import EgressSettings, ServerPolicy
from ..privacy.link_switch import LinkSwitch
from ..serving.peers.openings import Openings
from ..serving.search.gatherer import Gatherer
from .daemon import Daemon
from .parts import PRODUCT, Parts


class CloudDaemon(Daemon):
    """The cloud daemon, which has a session for each one that a device leads."""

    def __init__(self, settings: CloudSettings, parts: Parts = PRODUCT) -> None:
        self._devices: dict[bytes, Greeted] = {}  # connected ones, by route
        self._drains: list[Received] = []  # who waits for the end of this daemon
        self._own_settings = settings
        super().__init__(settings, "cloud", parts, silence_s=settings.silence_s)

    def server_policy(self) -> ServerPolicy:
        """Return the policy of the server, which writes memory and clients' dispatched answers, or is the model."""
        egress = EgressSettings(passages=self.settings.egress.passages, history="all")
        return ServerPolicy(egress, self.ledger, LinkSwitch())

    def open_gatherer(self) -> Gatherer:
        """Create the gatherer among the devices that share with this cloud."""
        over_tcp = is_tcp(self.settings.endpoint)
        self._federation = Federation(
            self._own_settings.federation,
            self.server,
            self.services.retrieval,
            self.services.counters,
            lambda name: not over_tcp or self.bus.lets_in(name),
        )
        self._relay = Relay(self._federation.members, self.server, self.services.retrieval, self.services.counters)
        return self._federation

    def connect(self) -> None:
        """Register the handlers for devices' messages."""
        self._federation.add_to(self.at_server)
        self._relay.add_to(self.at_server)
        self.duties.append(self._federation)
        self.board.add(facts=[self._federation.facts], metrics=[self._federation.metrics])
        openings = Openings(self.services, self.server, self.sessions, self.modes.peers, self.check_taking)
        openings.add_to(self.at_server)
        self.at_server.add([Drain], self._on_drain)
        self.board.add_for_users(facts=[self._device_facts], metrics=[self._device_metrics])
        self.board.add(facts=[self._corrected])

    def greet(self, hello: Hello) -> Welcome | Error:
        """Answer Hello; a device must number its tokens as this side does, or write words as it does."""
        same = hello.tokenizer == self.services.model.fingerprint
        if hello.role == "device" and not (same or (hello.words and hello.words == self.services.words)):
            return Error(
                code="protocol",
                text="the models of device and cloud have different tokenizers, and one of them is not byte-level BPE",
                remedy="configure two models of one family under [model] name",
            )
        return super().greet(hello)

    def on_end(self, event: Greeted | Gone) -> None:
        """Track which devices are connected."""
        self._federation.on_end(event)
        self._relay.on_end(event)
        if isinstance(event, Gone):
            self._devices.pop(event.route, None)
        elif event.hello.role == "device":
            self._devices[event.route] = event

    def close(self) -> None:
        """Close, and tell whoever had this daemon drained how many sessions that ended."""
        for event in self._drains:
            assert isinstance(event.message, Drain)
            self.server.send(event.route, Drained(request=event.message.request, ended=len(self.sessions)))
        super().close()

    def _on_drain(self, event: Received) -> None:
        assert isinstance(event.message, Drain)
        self._drains.append(event)
        self.end_within(event.message.within_s)

    def _device_facts(self, user: str) -> dict[str, str]:
        own = (event for event in self._devices.values() if user in ("", event.user))
        connected = ", ".join(sorted(event.hello.name or event.user or "a device" for event in own)) or "none"
        return {
            "devices": notice_text(connected),  # as many as a line holds
            "device sessions": str(self.sessions.followed_by(user)),
        }

    def _device_metrics(self, user: str) -> dict[str, float]:
        return {"sessions": float(self.sessions.followed_by(user))}

    def _corrected(self) -> dict[str, str]:
        corrections = int(self.services.counters.metrics()["corrections_total"])
        return {"corrected by a device": f"{corrections} time(s), after a near-tie or because a device continued alone"}


def main(path: Path, parts: Parts = PRODUCT, engine: Engine | None = None) -> None:
    """Run the cloud daemon in the foreground with the configuration file `path`; `engine` replaces the file's."""
    settings = config.load(path, CloudSettings)
    if engine is not None:
        settings = replace(settings, model=replace(settings.model, engine=engine))
    log.setup(settings.log_level, settings.log_format)
    CloudDaemon(settings, parts).run()
