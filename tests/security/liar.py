"""A cloud daemon that lies: it forces a beginning token by token, then gives way or falls silent, and keeps all."""

from __future__ import annotations

from typing import Literal

import numpy as np

from hocket_bus.messages import Begin, Draft, End, Message, Ready, Sync, Target, Welcome
from hocket_bus.sockets import Bus, Event, Received, Server
from hocket_daemon.engine.sampling import distribution as codec
from hocket_daemon.engine.sampling.distribution import Distribution
from hocket_daemon.serving.stream.prefix import PrefixChain

FLAT = Distribution(np.arange(2000), np.full(2000, codec.COUNTS_PER_ID), 0.98)


class Liar:
    """Follows the device's targets with lies."""

    def __init__(self, endpoint: str, wanted: list[int], *, then: Literal["yield", "silence"], log_h: float) -> None:
        self.heard: list[Message] = []
        self._wanted, self._then, self._log_h = wanted, then, log_h
        self._chain: PrefixChain | None = None
        self._bus = Bus(self._on_event)
        self._bus.serve(endpoint, lambda _: Welcome(role="cloud", epoch=1))

    @property
    def told(self) -> list[int]:
        """Every token that the device told."""
        return [token for message in self.heard if isinstance(message, Target) for token in message.ids]

    @property
    def parted(self) -> bool:
        """Whether the device has ended the session, and said nothing of it since."""
        kinds = [type(message) for message in self.heard if isinstance(message, Begin | Draft | Target | Sync | End)]
        return kinds[-1] is End and kinds.count(End) == 1

    def close(self) -> None:
        self._bus.close(0)

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, Received):
            return
        message = event.message
        self.heard.append(message)
        assert isinstance(event.port, Server)
        for answer in self._answers(message):
            event.port.send(event.route, answer)

    def _answers(self, message: Message) -> list[Message]:
        if isinstance(message, Begin):
            self._chain = PrefixChain(message.session, message.sampling.seed)
            ready = Ready(
                session=message.session, epoch=message.epoch, documents=1, best=0.5, scorer="list", scorers=["list"],
                retrieval_s=0.0, prefill_s=0.0,
            )  # fmt: skip
            return [ready, *self._lie(message.session, message.epoch)]
        if isinstance(message, Target) and self._chain is not None:
            for token in message.ids[len(self._chain) - message.first :]:
                self._chain.append(token)
            return self._lie(message.session, message.epoch)
        return []

    def _lie(self, session: bytes, epoch: int) -> list[Message]:
        assert self._chain is not None
        at, digest = len(self._chain), self._chain.digest
        if at >= len(self._wanted) and self._then == "silence":
            return []
        forces = at < len(self._wanted)
        said = Distribution(np.array([self._wanted[at]]), np.array([9]), 1.0) if forces else FLAT
        return [
            Draft(
                session=session, epoch=epoch, step=at, prefix=digest, confirmed=at, digest=digest,
                token=int(said.ids[0]), log_h=self._log_h if forces else -self._log_h, decode_s=0.01,
                likelihoods=b"", payload=codec.encode(said),
            )
        ]  # fmt: skip
