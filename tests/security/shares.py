"""A cloud at which several machines may speak, two honest ones and a hostile one, each with a key of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

from hocket_bus.messages import ANSWERS, AggregationOptions, Ask, Begin, Hello, Message, Prompt, Right, Sampling
from hocket_bus.sockets import Bus, Event, LinkUp, Received, new_key_pair
from hocket_bus.trust.keys import Peer, write_own, write_peers
from hocket_daemon.aggregation.mode import AggregationMode
from waiting import WAIT_S

MACHINES = ("alice", "bob", "mallory")
MAY: frozenset[Right] = frozenset({"pair", "ask", "watch"})
TAKEN = ANSWERS | set(AggregationMode.answers)
M = TypeVar("M", bound=Message)


def make_keys(folder: Path, at: str) -> None:
    """A folder of keys for the cloud and for each machine, which the cloud at `at` lets in."""
    own = {name: new_key_pair() for name in ("cloud", *MACHINES)}
    for name, key in own.items():
        write_own(folder / name, key)
        write_peers(folder / name, {"cloud": Peer(own["cloud"].public, at)})
    write_peers(folder / "cloud", {name: Peer(own[name].public, may=MAY) for name in MACHINES})


class Machine:
    """One machine's connection, as a program writes it that keeps to no rule but the protocol's."""

    def __init__(self, at: str, keys: Path | None, tokenizer: str = "", role: str = "device") -> None:
        self._inbox: SimpleQueue[Event] = SimpleQueue()
        self._bus = Bus(self._inbox.put, keys)
        self.topic = os.urandom(16)
        hello = Hello(role=role, tokenizer=tokenizer)  # type: ignore[arg-type]
        self._link = self._bus.dial(at, hello, self.topic if role == "device" else b"", takes=TAKEN)
        while not isinstance(self._inbox.get(timeout=WAIT_S), LinkUp):
            pass

    def say(self, *messages: Message) -> None:
        for message in messages:
            self._link.send(message)

    def hear(self, kind: type[M], about: Callable[[M], bool] = lambda _: True, timeout_s: float = WAIT_S) -> M:
        """The next message of a kind. Raises Empty where none comes in time."""
        while True:
            event = self._inbox.get(timeout=timeout_s)
            if isinstance(event, Received) and isinstance(event.message, kind) and about(event.message):
                return event.message

    def heard(self) -> list[Message]:
        """What lies there."""
        messages = list[Message]()
        try:
            while True:
                event = self._inbox.get_nowait()
                if isinstance(event, Received):
                    messages.append(event.message)
        except Empty:
            return messages

    def close(self) -> None:
        self._bus.close(0)

    def ask(self, request: bytes = b"", *, documents: int = 2, tokens: int = 4) -> Ask:
        """A question for the cloud alone."""
        return Ask(
            request=request or os.urandom(16),
            topic=self.topic,
            prompt=Prompt(query="Where does the heron stand at dawn?"),
            documents=documents,
            sampling=Sampling(max_tokens=tokens, seed=1),
            options=AggregationOptions(alone=True),
            ignore_eos=True,
        )


def about(number: bytes) -> Callable[[Message], bool]:
    """Whether a message is about the session or request of this number."""
    return lambda message: number in {getattr(message, name, b"") for name in ("session", "request")}


def begin(session: bytes = b"", *, documents: int = 2, tokens: int = 64) -> Begin:
    """What a device opens a session with."""
    return Begin(
        session=session or os.urandom(16),
        epoch=0,
        prompt=Prompt(query="Where does the heron stand at dawn?"),
        task="answer",
        sampling=Sampling(max_tokens=tokens, seed=1),
        method="coupled",
        documents=documents,
        eos=[],
        weights="static",
        reweigh_every=4,
        relevance_temperature=0.1,
        wire_mass=0.98,
    )
