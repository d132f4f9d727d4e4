"""The device daemon: answers its clients together with the cloud."""

from __future__ import annotations

from pathlib import Path

import structlog

from hocket_bus import config, log
from hocket_bus.endpoints import check_endpoint
from hocket_bus.errors import BadMessage, HocketError, ProtocolError, Unavailable
from hocket_bus.messages import Aggregated, Draft, Hello, Message, Ready, Refused, Sync, Target
from hocket_bus.sockets import Link, LinkDown, LinkUp, Received

from .aggregation.leader import Cloud, Leader
from .config import DeviceSettings
from .daemon import Daemon
from .monitoring.counters import labelled
from .privacy.egress import PeerGate, fact, obstacle
from .privacy.ledger import Ledger
from .profiling.decode_times import link_fact, network_facts

logger = structlog.get_logger(__name__)


class DeviceDaemon(Daemon):
    """Keeps a link to the cloud and hands its messages to the answers in work."""

    def __init__(self, settings: DeviceSettings) -> None:
        self._link: Link | None = None
        self._down: HocketError | None = obstacle(settings.egress)
        self.shares_drafts = settings.egress.drafts
        self._ledger = Ledger(Path(settings.egress.ledger) if settings.egress.ledger else None)
        self._bad_messages = log.RateLimitedLog(logger, "bad message of the cloud")
        super().__init__(settings, "device")
        self._waits = settings
        if settings.cloud and self._down is None:
            check_endpoint(settings.cloud)
            hello = Hello(role="device", tokenizer=self.model.fingerprint)
            gate = PeerGate(settings.egress, settings.cloud, self._ledger)
            self._link = self.bus.dial(settings.cloud, hello, gate=gate)

    def cloud(self) -> Cloud | None:
        """The other side, when one is configured."""
        waits = self._waits
        if not waits.cloud:
            return None
        return Cloud(self._send, self._rtt_s, waits.connect_wait_s, waits.peer_wait_s, waits.rejoin_wait_s)

    def _send(self, message: Message) -> None:
        if self._link is None:
            raise Unavailable("there is no link to the cloud")
        self._link.send(message)

    def _rtt_s(self) -> float:
        return 0.0 if self._link is None else self._link.rtt_s

    def tick(self, now: float) -> None:
        """Write down what left, too."""
        super().tick(now)
        self._ledger.write()

    def close(self) -> None:
        """The last words to the cloud are counted, too."""
        super().close()
        self._ledger.write()

    def start(self, answer: Leader) -> None:
        """Start with the link as it is."""
        answer.start(self._link is not None and self._link.up, self._down)

    def on_link(self, event: LinkUp | LinkDown) -> None:
        """Tell every answer in work."""
        assert self._link is not None
        if isinstance(event, LinkUp):
            self._down = None
            logger.info("cloud connected", rtt_ms=round(self._link.rtt_s * 1000, 2), model=event.welcome.model)
        else:
            self._down = event.reason
            logger.warning("cloud not connected", reason=str(event.reason))
        for answer in list(self.answers.values()):
            if self._down is None:
                answer.on_link_up()
            else:
                answer.on_link_down(self._down)

    def on_peer(self, message: Message) -> None:
        """Hand a message of the cloud to its session."""
        if not isinstance(message, Draft | Target | Aggregated | Sync | Ready | Refused):
            return
        for answer in list(self.answers.values()):
            if answer.begin.session == message.session:
                try:
                    answer.receive(message)
                except BadMessage as error:
                    self._bad_messages.note(error=str(error))

    def on_other(self, event: Received) -> None:
        """Clients send nothing else."""

    def facts(self) -> dict[str, str]:
        """Lines for `hocket status`."""
        unlinked = "not used" if self._waits.cloud else "none configured"
        cloud = unlinked if self._link is None else link_fact(self._link)
        why = f" ({self._down})" if isinstance(self._down, ProtocolError) else ""
        facts = {"cloud": cloud + why, "leaves this device": fact(self._waits.egress)}
        return super().facts() | facts | network_facts(self._waits.cloud)

    def figures(self) -> dict[str, float]:
        """The numbers among them, for programs."""
        sums = dict(self._ledger.sums)
        sent = {labelled("sent_bytes_total", **{"class": kind}): float(size) for kind, size in sums.items()}
        figures = super().figures() | sent
        if self._link is None or not self._link.up:
            return figures
        return figures | {"rtt_s": self._link.rtt_s, "rtt_average_s": self._link.round_trip.average}


def main(path: Path) -> None:
    """Run the device daemon in the foreground with the configuration file `path`."""
    settings = config.load(path, DeviceSettings)
    log.setup(settings.log_level, settings.log_format)
    DeviceDaemon(settings).run()
