"""The cloud's part in a device's question: it drafts along and takes the device's word."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from hocket_bus.errors import Busy, HocketError
from hocket_bus.messages import Aggregated, Begin, Draft, Message, Ready, Refused, Sync, Target

from .dialogue import Effects
from .session import Services, Session

READING_S = 600.0  # what a device may take to read a prompt
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Device:
    """The other side: whose it is, how to send to it, how far it is by its own word, how long its link is silent."""

    user: str
    send: Callable[[Message], None]
    rtt_s: Callable[[], float]
    silence_s: Callable[[], float]


class Follower(Session):
    """Lives until the device's End, or until the device is silent for too long."""

    def __init__(self, services: Services, begin: Begin, device: Device) -> None:
        super().__init__(services, begin)
        self.device = device
        self.heard_s = self._began_s = time.monotonic()
        self._spoken_with = False

    @property
    def rtt_s(self) -> float:
        """As the device tells it with every ping."""
        return self.device.rtt_s()

    def receive(self, message: Draft | Target | Aggregated | Sync) -> None:
        """A peer message of this session."""
        self.heard_s, self._spoken_with = time.monotonic(), True
        self.take(self.dialogue.receive(message))
        self.draft_next()

    def device_reads(self, now: float, silence_s: float) -> bool:
        """Whether it may still read its prompt: it says nothing of the session then, but its link lives."""
        return not self._spoken_with and now - self._began_s < READING_S and self.device.silence_s() <= silence_s

    def on_ready(self) -> None:
        """The question is read; drafting begins."""
        self.tell_ready()

    def tell_ready(self) -> None:
        """Tell the device what this side brings, once it is known."""
        if self._reading is None or self.passages is None:
            return
        self.device.send(
            Ready(
                session=self.begin.session,
                epoch=self.dialogue.epoch,
                documents=self.documents,
                scorer=self.passages.scorer,
                scorers=self.passages.scorers,
                retrieval_s=self.retrieval_s,
                prefill_s=self.prefill_s,
            )
        )

    def take(self, turn: Effects) -> None:
        """Send; the device publishes."""
        for confirmed in turn.confirmed:
            self._services.counts.confirmed(confirmed, "cloud")
        for message in turn.send:
            self.device.send(message)

    def fail(self, error: HocketError) -> None:
        """The device goes on alone, and says why."""
        self._services.counts.add("errors_total", kind=error.code)
        log.warning("cannot take part", session=self.begin.session.hex(), error=str(error))
        self.device.send(refused(self.begin, self.dialogue.epoch, error))
        self.close()


def refused(begin: Begin, epoch: int, error: HocketError) -> Refused:
    """What tells a device that this side cannot take part, and when it can."""
    return Refused(
        session=begin.session,
        epoch=epoch,
        code=error.code,
        text=error.text[:1000],
        remedy=error.remedy[:1000],
        retry_after_s=error.retry_after_s if isinstance(error, Busy) else 0.0,
    )
