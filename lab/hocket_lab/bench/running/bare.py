"""A side of a pair without a model, as a process of its own: python -m hocket_lab.bench.running.bare SIDE FOLDER IDS.

It turns its bus's loop as a daemon does; what a model would say at a step is made beforehand.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hocket_bus.messages import (
    Accepted,
    AggregationOutcome,
    Ask,
    Begin,
    Credit,
    Done,
    Draft,
    Hello,
    Message,
    Side,
    Status,
    StatusRequest,
    Sync,
    Target,
    Welcome,
)
from hocket_bus.sockets import Bus, Event, Gone, LinkUp, Received
from hocket_daemon.aggregation.dialogue import Dialogue, Effects
from hocket_daemon.engine.sampling.distribution import truncate
from hocket_daemon.serving.sessions.requests import Streams
from hocket_daemon.serving.stream.reply import Stream
from hocket_lab.bench.running.product import WIRE_MASS

IDLE_S = 30.0  # whoever started this process has gone
_LOG_BYTES = 1 << 24


def endpoint(folder: Path, side: Side) -> str:
    """Return the endpoint at which the side of the pair in `folder` listens."""
    return f"ipc://{folder}/{side}"


class Bare(ABC):
    """A side that drafts as soon as there is a step to draft."""

    def __init__(self, side: Side, vocabulary: int) -> None:
        self.bus = Bus(self._on_event, own_thread=False)
        self._side: Side = side
        self._made = distributions(vocabulary)
        self._dialogue: Dialogue | None = None
        self._received_s = time.monotonic()

    def run(self) -> None:
        """Serve until nothing has been received for a while."""
        gc.collect()
        gc.freeze()
        while time.monotonic() < self._received_s + IDLE_S:
            self.bus.step(self._received_s + IDLE_S)

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, Gone):
            self._received_s = time.monotonic()
        if isinstance(event, Received) and isinstance(event.message, Draft | Target | Sync):
            assert self._dialogue is not None
            self._take(self._dialogue.receive(event.message))
        elif isinstance(event, Received):
            self._on_request(event, event.message)

    @abstractmethod
    def _on_request(self, event: Received, message: Message) -> None:
        """Handle a message that begins or surrounds an exchange."""

    @abstractmethod
    def _send(self, message: Message) -> None:
        """Send a message to the other side."""

    def _begin(self, begin: Begin) -> None:
        self._dialogue = Dialogue(self._side, begin)
        self._draft()

    def _draft(self) -> None:
        assert self._dialogue is not None
        exchange = self._dialogue.exchange
        step = exchange.next_step()
        if step is not None:
            head = truncate(self._made[(step + len(self._side)) % len(self._made)], WIRE_MASS)
            turn = self._dialogue.own(step, exchange.drafted.digest, head, 0.0, 0.0)
            assert turn is not None
            self._take(turn)

    def _take(self, turn: Effects) -> None:
        for _, message in turn.send:
            self._send(message)
        self._draft()


class Cloud(Bare):
    """The cloud side, which serves the device."""

    def __init__(self, folder: Path, vocabulary: int) -> None:
        super().__init__("cloud", vocabulary)
        self._server = self.bus.serve(endpoint(folder, "cloud"), lambda _: Welcome(role="cloud", epoch=1))
        self._route = b""

    def _on_request(self, event: Received, message: Message) -> None:
        if isinstance(message, Begin):
            self._route = event.route
            self._begin(message)

    def _send(self, message: Message) -> None:
        self._server.send(self._route, message)


class Device(Bare):
    """The device side, which serves a client once the cloud is there.

    It publishes each token after its message to the cloud.
    """

    def __init__(self, folder: Path, vocabulary: int) -> None:
        super().__init__("device", vocabulary)
        self._folder = folder
        self._link = self.bus.dial(endpoint(folder, "cloud"), Hello(role="device"), takes=(Draft, Target, Sync))

    def _on_event(self, event: Event) -> None:
        if isinstance(event, LinkUp):
            self._server = self.bus.serve(endpoint(self._folder, "device"), lambda _: Welcome(role="device", epoch=1))
            self._streams = Streams(self._server, _LOG_BYTES)
        super()._on_event(event)

    def _on_request(self, event: Received, message: Message) -> None:
        if isinstance(message, Ask):
            self._server.send(event.route, Accepted(request=message.request))
            self._stream = self._streams.open(message, event.route, event.user)
            self._seed = message.sampling.seed
            terms = _terms(message)
            self._send(terms)
            self._begin(terms)
        elif isinstance(message, Credit):
            self._streams.read_on(event, message)
        elif isinstance(message, StatusRequest):
            self._server.send(event.route, Status(request=message.request, role="device", ready=True, facts={}))

    def _take(self, turn: Effects) -> None:
        super()._take(turn)
        assert self._dialogue is not None
        for each in turn.confirmed:
            self._stream.token(step=each.step, token=each.token, text="", source=each.source)
        if turn.confirmed and self._dialogue.exchange.ended:
            self._stream.end(_done(self._stream, self._dialogue, self._seed))

    def _send(self, message: Message) -> None:
        self._link.send(message)


def distributions(vocabulary: int) -> Sequence[NDArray[np.float32]]:
    """Return peaked distributions like a language model's: a few likely ids over a long tail (Zipf), shuffled."""
    rng = np.random.default_rng(0)
    made = []
    for exponent in rng.uniform(1.5, 3.0, size=16):
        weights = rng.permutation(np.arange(1, vocabulary + 1, dtype=float)) ** -exponent
        made.append((weights / weights.sum()).astype(np.float32))
    return made


def _terms(ask: Ask) -> Begin:
    return Begin(
        session=os.urandom(16), epoch=0, prompt=ask.prompt, task="answer", method="sync-both", documents=1,
        eos=[], sampling=ask.sampling, weights="static", reweigh_every=1, relevance_temperature=1.0,
        wire_mass=WIRE_MASS,
    )  # fmt: skip


def _done(stream: Stream, dialogue: Dialogue, seed: int) -> Done:
    return Done(
        request=stream.request, seq=stream.seq, finish="length", token_ids=dialogue.exchange.confirmed.ids, text="",
        ttft_s=0.0, ms_per_token=0.0, mode="aggregation", outcome=AggregationOutcome(method="sync-both"), seed=seed,
    )  # fmt: skip


def main() -> None:
    """Run the side that the command line names."""
    kind = Device if sys.argv[1] == "device" else Cloud
    kind(Path(sys.argv[2]), int(sys.argv[3])).run()


if __name__ == "__main__":
    main()
