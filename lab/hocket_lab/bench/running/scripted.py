"""Devices without a model: real sockets, drafts computed from the seed, one session after the other on one cloud."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hocket_bus.errors import Unavailable
from hocket_bus.messages import Aggregated, Begin, Draft, End, Hello, Message, Prompt, Refused, Sampling, Sync, Target
from hocket_bus.sockets import Bus, Event, Link, LinkDown, LinkUp, Port, Received
from hocket_daemon.aggregation.dialogue import Dialogue, Effects
from hocket_daemon.aggregation.mode import AggregationMode
from hocket_daemon.engine.sampling.distribution import Distribution
from hocket_lab.bench.running.product import WIRE_MASS
from hocket_tools.caller import Caller

WAIT_S = 60.0
LOG_H = -2.0  # the least that may be claimed: most of the cloud's drafts are accepted
DISTRIBUTIONS, IDS = 1024, 16
_NUMBERS = np.arange(2, 300)  # of which they are


@dataclass
class Seen:
    """Counts and times of what the devices saw of the cloud."""

    drafts: int = 0
    tokens: int = 0
    answers: int = 0
    refused: int = 0
    breaks: int = 0
    gaps_s: list[float] = field(default_factory=list)


class ScriptedDevice:
    """A device that begins, drafts, confirms, ends, and begins anew."""

    def __init__(
        self,
        number: int,
        send: Callable[[Message], None],
        tokens: int,
        seen: Seen,
        *,
        made: Sequence[Distribution],
        documents: int,
    ) -> None:
        """Take distributions for its drafts from `made`: the digest of a prefix selects the one that follows it."""
        self._number = number
        self._documents = documents
        self._made = made
        self._send = send
        self._tokens = tokens
        self.seen = seen
        self._session = 0
        self._key = b""
        self._last_s: float | None = None  # when the latest token of the session was confirmed

    def begin(self) -> None:
        """Open a session and draft as far as one may."""
        self._session += 1
        seed = self._number << 20 | self._session
        terms = Begin(
            session=os.urandom(16), epoch=0, prompt=Prompt(query=f"What is said of number {self._number}?"),
            task="answer",
            sampling=Sampling(seed=seed, temperature=1.0, top_p=1.0, max_tokens=self._tokens), method="coupled",
            documents=self._documents, eos=[], weights="static", reweigh_every=1, relevance_temperature=0.5,
            wire_mass=WIRE_MASS,
        )  # fmt: skip
        self._dialogue, self._key, self._last_s = Dialogue("device", terms), terms.session, None
        self._send(terms)
        self._draft()

    def end(self) -> None:
        """Close the session, if there is one."""
        if self._key:
            self._send(End(session=self._key, reason="the end"))

    def receive(self, message: Message) -> None:
        """Handle a message about the session under way; one about an earlier session is late and is ignored."""
        if getattr(message, "session", None) != self._key:
            return
        if isinstance(message, Refused):
            self.seen.refused += 1
        elif isinstance(message, Draft | Target | Aggregated | Sync):
            self.seen.drafts += isinstance(message, Draft)
            self._take(self._dialogue.receive(message))
            self._draft()

    def _draft(self) -> None:
        exchange = self._dialogue.exchange
        while (step := exchange.next_step()) is not None and not exchange.ended:
            prefix = exchange.drafted.digest
            turn = self._dialogue.own(step, prefix, self._made[prefix % len(self._made)], LOG_H, 0.0)
            assert turn is not None
            self._take(turn)
        if exchange.ended:
            self.seen.answers += 1
            self.end()
            self.begin()

    def _take(self, turn: Effects) -> None:
        for _ in turn.confirmed:
            now_s = time.monotonic()
            if self._last_s is not None:
                self.seen.gaps_s.append(now_s - self._last_s)
            self._last_s = now_s
            self.seen.tokens += 1
        for _, message in turn.send:
            self._send(message)


class Fleet:
    """Devices that share a process and a key, each with a connection of its own. Close it, or use it in `with`."""

    def __init__(self, cloud: str, keys: Path, devices: int, tokens: int, *, documents: int) -> None:
        """Connect all devices; `documents` are what each asks for. Raises Unavailable when one cannot connect."""
        self._bus = Bus(self._on_event, keys, own_thread=False)
        self._seen = Seen()
        self._devices: dict[Port, ScriptedDevice] = {}
        self._missing = devices
        made = [
            from_seed(number) for number in range(DISTRIBUTIONS)
        ]  # beforehand, so that the cloud is what is measured
        try:
            hello = Hello(role="device", tokenizer=_tokenizer_of(cloud, keys))
            for number in range(devices):
                link = self._bus.dial(cloud, hello, takes=AggregationMode.answers)
                self._devices[link] = ScriptedDevice(
                    number, link.send, tokens, self._seen, made=made, documents=documents
                )
            self._turn(WAIT_S, lambda: not self._missing)
            if self._missing:
                raise Unavailable(f"{self._missing} devices cannot connect to {cloud}", "see the cloud's log")
        except BaseException:
            self.close()
            raise
        for device in self._devices.values():
            device.begin()

    def drive(self, seconds: float) -> Seen:
        """Let all devices work for that many seconds; return what they saw in that time."""
        self._seen = Seen()
        for device in self._devices.values():
            device.seen = self._seen
        self._turn(seconds, lambda: False)
        return self._seen

    def _turn(self, seconds: float, done: Callable[[], bool]) -> None:
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s and not done():
            self._bus.step(until_s)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Received) and isinstance(event.port, Link):
            self._devices[event.port].receive(event.message)
        elif isinstance(event, LinkUp):
            if self._missing:
                self._missing -= 1
            else:
                self._devices[event.link].begin()
        elif isinstance(event, LinkDown):
            self._seen.breaks += 1

    def vanish(self) -> None:
        """Close the connections without ending the sessions."""
        self._bus.close(0.0)

    def close(self) -> None:
        """End all sessions and leave."""
        for device in self._devices.values():
            device.end()
        self._bus.close()

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def from_seed(seed: int) -> Distribution:
    """Return a device's distribution: a few likely ids."""
    rng = np.random.default_rng(seed)
    ids = np.sort(rng.choice(_NUMBERS, IDS, replace=False))
    counts = (65_535 * rng.permutation(1 / np.arange(1, IDS + 1) ** 2)).astype(np.int64)
    return Distribution(ids, counts, 1.0)


def _tokenizer_of(cloud: str, keys: Path) -> str:
    """Return the name of the numbering of tokens by the cloud's model, which a device must share."""
    with Caller(cloud, WAIT_S, keys) as caller:
        return caller.welcome.tokenizer
