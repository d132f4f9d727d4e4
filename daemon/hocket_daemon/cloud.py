"""The cloud daemon: accompanies the questions of devices, and answers clients of its own alone."""

from __future__ import annotations

import time
from pathlib import Path

import structlog

from hocket_bus import config, log
from hocket_bus.errors import BadMessage, BadRequest, HocketError, Unavailable
from hocket_bus.messages import Aggregated, Begin, Draft, End, Error, Hello, Message, Sync, Target, Welcome
from hocket_bus.sockets import LinkDown, LinkUp, Received

from .aggregation.follower import Device, Follower, refused
from .aggregation.leader import Cloud, Leader
from .config import CloudSettings
from .daemon import Daemon

logger = structlog.get_logger(__name__)


class CloudDaemon(Daemon):
    """Holds one accompaniment for each session of a device."""

    def __init__(self, settings: CloudSettings) -> None:
        self._sessions: dict[bytes, Follower] = {}
        self._corrections = 0
        super().__init__(settings, "cloud")
        self._silence_s = settings.silence_s

    def greet(self, hello: Hello) -> Welcome | Error:
        """A device must number its tokens as this side does."""
        if hello.role == "device" and hello.tokenizer != self.model.fingerprint:
            return Error(
                code="protocol",
                text="the models of device and cloud have different tokenizers",
                remedy="configure two models of one family under [model] name",
            )
        return super().greet(hello)

    def on_other(self, event: Received) -> None:
        """Messages of devices."""
        message = event.message
        if isinstance(message, Begin):
            self._on_begin(event, message)
        elif isinstance(message, Draft | Target | Aggregated | Sync | End):
            session = self._sessions.get(message.session)
            if session is None or session.device.user != event.user:
                return
            if isinstance(message, End):
                self._end(message.session)
                return
            if session.closed:
                return
            try:
                session.receive(message)
            except BadMessage as error:
                self.server.malformed(event.route, event.user, error)
            except BadRequest as error:
                session.fail(error)

    def _on_begin(self, event: Received, begin: Begin) -> None:
        session, device = self._sessions.get(begin.session), self._device(event)
        if session is not None and not session.closed:
            if session.device.user == event.user and begin.epoch >= session.dialogue.epoch:  # back by another route
                session.device = device
                session.tell_ready()  # it may have gone to where the device was before
            return
        try:
            self.check_taking()
            self._free(time.monotonic())
            self.admission.enter(begin.session, event.user, max(1, begin.documents), time.monotonic())
        except HocketError as error:
            self.counts.add("errors_total", kind=error.code)
            device.send(refused(begin, begin.epoch, error))
            return
        session = Follower(self, begin, device)
        self._sessions[begin.session] = session
        session.search()

    def close(self) -> None:
        """Tell the devices, which then go on alone at once."""
        for session in (session for session in self._sessions.values() if not session.closed):
            session.fail(Unavailable("the cloud is stopping", "it takes part again when it is back"))
        super().close()

    def _device(self, event: Received) -> Device:
        route = event.route
        return Device(
            event.user,
            lambda message: self.server.send(route, message),
            lambda: self.server.rtt_s(route),
            lambda: self.server.silence_s(route),
        )

    def _end(self, key: bytes) -> None:
        session = self._sessions.pop(key)
        self.admission.leave(key, time.monotonic())
        self._corrections += session.dialogue.exchange.corrections
        session.close()

    def idle(self) -> bool:
        """Neither clients nor devices wait."""
        return super().idle() and not self._sessions

    def due_s(self) -> float:
        """Sooner when a session's silence may have to be noticed."""
        heard = [session.heard_s + self._silence_s for session in self._sessions.values()]
        return min([super().due_s(), *heard])

    def tick(self, now: float) -> None:
        """Free the sessions of vanished devices."""
        super().tick(now)
        self._free(now)

    def _free(self, now: float) -> None:
        for key, session in list(self._sessions.items()):
            silent = now - session.heard_s > self._silence_s
            if silent and not session.closed and session.device_reads(now, self._silence_s):
                session.heard_s = now
            elif silent or session.closed:
                self._end(key)

    def most_ahead(self, rows: int) -> int:
        """Less the fuller this side is, so that more devices are served before one is told `busy`."""
        return self.admission.most_ahead(rows)

    def facts(self) -> dict[str, str]:
        """Lines for `hocket status`."""
        corrected = f"{self._corrections} time(s), by a near-tie or a device that went on alone"
        return super().facts() | {"device sessions": str(len(self._sessions)), "corrected by a device": corrected}

    def figures(self) -> dict[str, float]:
        """The numbers among them, for programs."""
        return super().figures() | {"sessions": float(len(self._sessions))}

    def cloud(self) -> Cloud | None:
        """The cloud answers its own clients alone."""
        return None

    def start(self, answer: Leader) -> None:
        """Start alone."""
        answer.start(link_up=False, down=None)

    def on_link(self, event: LinkUp | LinkDown) -> None:
        """The cloud dials nobody but its retrieval daemon."""

    def on_peer(self, message: Message) -> None:
        """See on_link."""


def main(path: Path) -> None:
    """Run the cloud daemon in the foreground with the configuration file `path`."""
    settings = config.load(path, CloudSettings)
    log.setup(settings.log_level, settings.log_format)
    CloudDaemon(settings).run()
