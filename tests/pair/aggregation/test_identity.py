"""Who a request or a session belongs to is decided by the key of the connection, and nobody else may touch it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest
from harness import Pair
from msgspec import structs

from hocket_bus.messages import (
    ANSWERS,
    Accepted,
    AggregationOptions,
    Ask,
    Begin,
    Cancel,
    Done,
    End,
    Error,
    Hello,
    Message,
    Prompt,
    Ready,
    Resume,
    Right,
    Sampling,
    Sync,
    Token,
)
from hocket_bus.sockets import Bus, Event, LinkUp, Received, new_key_pair
from hocket_bus.trust.keys import Peer, write_own, write_peers
from hocket_daemon.aggregation.mode import AggregationMode
from hocket_daemon.config import CloudSettings
from ports import free_port
from waiting import WAIT_S

AT = f"tcp://127.0.0.1:{free_port()}"

TAKEN = ANSWERS | set(AggregationMode.answers)
ALONE = AggregationOptions(alone=True)


class Machine:
    """One machine's connection to the cloud."""

    def __init__(self, bus: Bus, inbox: SimpleQueue[Event], tokenizer: str) -> None:
        self.inbox, self.topic = inbox, os.urandom(16)
        self._link = bus.dial(AT, Hello(role="device", tokenizer=tokenizer), self.topic, takes=TAKEN)
        assert isinstance(inbox.get(timeout=WAIT_S), LinkUp)

    def send(self, message: Message) -> None:
        self._link.send(message)

    def until(self, *kinds: type[Message]) -> Message:
        while True:
            event = self.inbox.get(timeout=WAIT_S)
            if isinstance(event, Received) and isinstance(event.message, kinds):
                return event.message


@pytest.fixture
def machines(tiny_models: dict[str, Path]) -> Iterator[tuple[Machine, Machine]]:
    """Alice's and Mallory's machines, both allowed, at one cloud."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        made = Pair(Path(folder), tiny_models)
        own = {name: new_key_pair() for name in ("cloud", "alice", "mallory")}
        for name, key in own.items():
            write_own(Path(folder) / name, key)
            write_peers(Path(folder) / name, {"cloud": Peer(own["cloud"].public, AT)})
        may: frozenset[Right] = frozenset({"pair", "ask"})
        write_peers(Path(folder) / "cloud", {name: Peer(own[name].public, may=may) for name in ("alice", "mallory")})
        made.keys = f"{folder}/cloud"
        with made.stack:
            made.start_retrieval("cloud")
            cloud = made.start_cloud(endpoint=AT, hold_s=0.02)
            ends = []
            for name in ("alice", "mallory"):
                inbox: SimpleQueue[Event] = SimpleQueue()
                bus = made.stack.enter_context(Bus(inbox.put, Path(folder) / name))
                ends.append(Machine(bus, inbox, cloud.services.model.fingerprint))
            yield ends[0], ends[1]


def test_nobody_else_cancels_or_reads_a_request(machines: tuple[Machine, Machine]) -> None:
    """Mallory knows its id and its topic; it ends as Alice wanted, and Mallory gets no token."""
    alice, mallory = machines
    request = os.urandom(16)
    sampling = Sampling(max_tokens=20, seed=1)
    ask = Ask(
        request=request,
        topic=alice.topic,
        prompt=Prompt(query="kala?"),
        sampling=sampling,
        options=ALONE,
        ignore_eos=True,
    )
    alice.send(ask)
    alice.until(Accepted)
    alice.until(Token)
    mallory.send(Cancel(request=request))
    mallory.send(Resume(request=request, topic=alice.topic, seq=0))
    refusal = mallory.until(Error, Token)
    done = alice.until(Done)
    assert isinstance(refusal, Error)
    assert isinstance(done, Done)
    assert (done.finish, len(done.token_ids)) == ("length", 20)


def test_asking_under_anothers_number_takes_no_place(machines: tuple[Machine, Machine]) -> None:
    """While that request is in work and when it has ended; Alice's ends well, and Mallory can ask for herself."""
    alice, mallory = machines
    ask = Ask(
        request=os.urandom(16), topic=alice.topic, prompt=Prompt(query="kala?"), sampling=Sampling(max_tokens=5),
        options=ALONE, ignore_eos=True,
    )  # fmt: skip
    stolen = structs.replace(ask, topic=mallory.topic)
    alice.send(ask)
    alice.until(Accepted)
    mallory.send(stolen)
    mallory.until(Error)
    assert isinstance(alice.until(Done), Done)
    for _ in range(CloudSettings(endpoint="", retrieval="").max_sessions):
        mallory.send(stolen)
        mallory.until(Error)
    mallory.send(structs.replace(stolen, request=os.urandom(16)))
    assert isinstance(mallory.until(Accepted, Error), Accepted)


def test_nobody_else_ends_or_takes_over_a_session(machines: tuple[Machine, Machine]) -> None:
    """Mallory sends End and then Begin for Alice's session; Alice's Sync is still answered, to her."""
    alice, mallory = machines
    begin = Begin(
        session=os.urandom(16),
        epoch=0,
        prompt=Prompt(query="kala?"),
        task="answer",
        sampling=Sampling(max_tokens=20, seed=1),
        method="coupled",
        documents=1,
        eos=[],
        weights="static",
        reweigh_every=1,
        relevance_temperature=0.1,
        wire_mass=0.98,
    )
    alice.send(begin)
    alice.until(Ready)
    mallory.send(End(session=begin.session, reason="eos"))
    mallory.send(begin)
    mallory.send(Ask(request=os.urandom(16), topic=mallory.topic, prompt=Prompt(query=""), options=ALONE))
    mallory.until(Error)  # so what came before has been dealt with
    alice.send(Sync(session=begin.session, epoch=0, confirmed=0, digest=0))
    assert isinstance(alice.until(Sync), Sync)
