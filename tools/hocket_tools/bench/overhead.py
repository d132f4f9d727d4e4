"""`hocket bench overhead`: what the bus and the aggregation cost per token, without a model.

Two dialogues exchange drafts over real sockets; the distributions are made beforehand, so that truncating, encoding,
sending, decoding, mixing, drawing and publishing is all that is timed. The floor beside it: a raw pyzmq round trip.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from hocket_bus.messages import Begin, Cancel, Draft, Hello, Message, Sampling, Sync, Target, Token, Welcome
from hocket_bus.sockets import Bus, Event, Received, Server
from hocket_daemon.aggregation.dialogue import Dialogue, Turn
from hocket_daemon.aggregation.distribution import truncate
from hocket_tools.bench.report import Report, percentile

VOCABULARIES = (2_048, 151_936)
WAIT_S = 10.0


def run(json_path: Path | None, tokens: int) -> bool:
    """Measure; returns whether every claim holds."""
    report = Report({"tokens": tokens, "vocabularies": list(VOCABULARIES), "wire_mass": 0.98}, json_path)
    for vocabulary in VOCABULARIES:
        if report.find(vocabulary=vocabulary) is None:
            costs, trips = _measure(vocabulary, tokens)
            report.add(
                {
                    "vocabulary": vocabulary,
                    "token_p50_ms": percentile(costs, 0.5) * 1000,
                    "token_p95_ms": percentile(costs, 0.95) * 1000,
                    "bus_round_trip_p50_ms": percentile(trips, 0.5) * 1000,
                }
            )
    report.claims.clear()
    for row in report.rows:
        cost = float(row["token_p50_ms"] or 0)
        report.claim(f"bus and aggregation per token, vocabulary {row['vocabulary']}, p50 ms", "< 1", cost, cost < 1)
    return report.finish()


class _Wire:
    """A device end and a cloud end on the bus, and a stream published on the device's side."""

    def __init__(self, folder: str, device: Bus, cloud: Bus, inbox: SimpleQueue[Event]) -> None:
        self.inbox = inbox
        self.topic = os.urandom(16)
        self.cloud = cloud.serve(f"ipc://{folder}/cloud", lambda _: Welcome(role="cloud", epoch=1))
        self.device = device.serve(f"ipc://{folder}/device", lambda _: Welcome(role="device", epoch=1))
        self.link = device.dial(f"ipc://{folder}/cloud", Hello(role="device"))
        self.reader = cloud.dial(f"ipc://{folder}/device", Hello(role="client"), self.topic)
        for _ in range(2):
            inbox.get(timeout=WAIT_S)
        self.link.send(Cancel(request=bytes(16)))
        self.route = self._received().route

    def _received(self) -> Received:
        event = self.inbox.get(timeout=WAIT_S)
        assert isinstance(event, Received)
        return event

    def next(self) -> tuple[str, Message]:
        """The next message and the end that it reached."""
        event = self._received()
        if event.port is self.reader:
            return "reader", event.message
        return ("cloud" if isinstance(event.port, Server) else "device"), event.message


def _measure(vocabulary: int, tokens: int) -> tuple[list[float], list[float]]:
    inbox: SimpleQueue[Event] = SimpleQueue()
    with tempfile.TemporaryDirectory(prefix="hk") as folder, Bus(inbox.put) as device, Bus(inbox.put) as cloud:
        wire = _Wire(folder, device, cloud, inbox)
        trips = [_round_trip(wire) for _ in range(tokens)]
        return _exchange(wire, vocabulary, tokens), trips


def _round_trip(wire: _Wire) -> float:
    started_s = time.perf_counter()
    wire.link.send(Cancel(request=bytes(16)))
    wire.next()
    wire.cloud.send(wire.route, Cancel(request=bytes(16)))
    wire.next()
    return time.perf_counter() - started_s


def _exchange(wire: _Wire, vocabulary: int, tokens: int) -> list[float]:
    begin = Begin(
        session=os.urandom(16), epoch=0, question="", task="answer", aggregation="sync-both", documents=1, eos=[],
        sampling=Sampling(seed=1, temperature=1.0, top_p=1.0, max_tokens=tokens),
        weights="static", reweigh_every=1, relevance_temperature=1.0, wire_mass=0.98,
    )  # fmt: skip
    sides = {"device": Dialogue("device", begin), "cloud": Dialogue("cloud", begin)}
    made = _distributions(vocabulary)
    costs = []
    for step in range(tokens):
        started_s = time.perf_counter()
        for name, dialogue in sides.items():
            prefix = dialogue.exchange.drafted.digest
            head = truncate(made[(step + len(name)) % len(made)], begin.wire_mass)
            turn = dialogue.own(step, prefix, head, 0.0, 0.0)
            assert turn is not None
            _send(wire, name, turn)
        _until_read(wire, sides, step)
        costs.append(time.perf_counter() - started_s)
    return costs


def _until_read(wire: _Wire, sides: dict[str, Dialogue], step: int) -> None:
    """Hand messages over until the reader has the token and the cloud has confirmed it too."""
    read = False
    while not (read and len(sides["cloud"].exchange.confirmed) > step):
        name, message = wire.next()
        if name == "reader":
            read = True
        elif isinstance(message, Draft | Target | Sync):
            _send(wire, name, sides[name].receive(message))


def _send(wire: _Wire, name: str, turn: Turn) -> None:
    for message in turn.send:
        if name == "device":
            wire.link.send(message)
        else:
            wire.cloud.send(wire.route, message)
    if name == "device":
        for confirmed in turn.confirmed:
            wire.device.publish(
                wire.topic,
                Token(
                    request=bytes(16), seq=confirmed.step, step=confirmed.step, id=confirmed.token,
                    text="", source=confirmed.source, t_s=0.0,
                ),
            )  # fmt: skip


def _distributions(vocabulary: int) -> Sequence[NDArray[np.float64]]:
    """Peaked distributions like a language model's: a few likely ids over a long tail (Zipf), shuffled."""
    rng = np.random.default_rng(0)
    made = []
    for exponent in rng.uniform(1.5, 3.0, size=16):
        weights = rng.permutation(np.arange(1, vocabulary + 1, dtype=float)) ** -exponent
        made.append(weights / weights.sum())
    return made
