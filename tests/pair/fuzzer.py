"""Sends a daemon what no end would send: changed messages, valid ones out of place, and bytes of nothing."""

from __future__ import annotations

import os
import random
import time
from typing import Any

import msgspec
import zmq

from generated import Frames, changed_somewhere, corpus
from hocket_bus.errors import BadMessage
from hocket_bus.messages import (
    Cancel,
    Drain,
    End,
    Error,
    Hello,
    Ingest,
    Message,
    Ping,
    Pong,
    Remove,
    Status,
    StatusRequest,
    SwitchLink,
)
from hocket_bus.wire import decode, encode
from waiting import WAIT_S

BATCH = 500
_COSTLY = ("Ask", "Begin", "Search", "Score", "Ingest")  # a daemon may work on these for long
_IDS = ("request", "session", "topic")


class Fuzzer:
    """Makes frames, the same ones for a seed; ids are of a few, so that messages hit what others began."""

    def __init__(self, seed: int) -> None:
        self.ids = [random.Random(seed + number).randbytes(16) for number in range(20)]
        self._rng = random.Random(seed)
        # These two end a daemon, and cut its link, as they should.
        self._messages = [message for message in corpus(20) if not isinstance(message, Drain | SwitchLink)]

    def frames(self) -> Frames:
        """The next message, or what is none."""
        chance = self._rng.random()
        if chance < 0.15:
            return [self._rng.randbytes(self._rng.randint(0, 200)) for _ in range(self._rng.randint(1, 10))]
        if chance < 0.16:
            return [self._rng.randbytes(2)] * self._rng.randint(9, 300)
        message = self._message()
        if isinstance(message, Ingest):  # a path could become "/", and the daemon would read the whole machine
            message = msgspec.structs.replace(message, paths=[])
        if isinstance(message, Remove):  # that of "/" is a valid one, behind which nothing is left to answer from
            message = msgspec.structs.replace(message, documents=[name for name in message.documents if name != "/"])
        costly = type(message).__name__ in _COSTLY and self._rng.random() > 0.02
        frames = encode(message)
        return changed_somewhere(frames, self._rng) if chance < 0.8 or costly else frames

    def subscription(self) -> bytes:
        """What a subscriber may say to a publisher: to begin, to end, or something else."""
        return self._rng.choice((b"\x00", b"\x01", b"\x02", b"")) + self._rng.choice(
            (self._rng.choice(self.ids), self._rng.randbytes(self._rng.randint(0, 40)))
        )

    def _message(self) -> Message:
        message = self._rng.choice(self._messages)
        changes = {name: self._rng.choice(self.ids) for name in _IDS if hasattr(message, name)}
        return msgspec.structs.replace(message, **changes)


class Attack:
    """A connection to one daemon and its streams; after each batch the daemon must answer what any end may ask."""

    def __init__(self, context: zmq.Context[Any], endpoint: str, fuzzer: Fuzzer) -> None:
        self._fuzzer = fuzzer
        self._requests, self._streams = context.socket(zmq.DEALER), context.socket(zmq.XSUB)
        self._requests.connect(endpoint)
        self._streams.connect(endpoint + ".pub")
        self._requests.send_multipart(encode(Hello(role="client")))

    def batch(self) -> int:
        """Send a batch, and wait until all of it has been dealt with; returns the number of its messages."""
        for _ in range(BATCH):
            self._requests.send_multipart(self._fuzzer.frames())
        for _ in range(BATCH // 50):
            self._streams.send(self._fuzzer.subscription())
        self.settle()
        while self._streams.poll(0):
            self._streams.recv_multipart()
        return BATCH + BATCH // 50

    def settle(self) -> None:
        """Wait for the echo of a ping, from the I/O thread, and for the status, from behind it."""
        sent_s, request = time.monotonic(), os.urandom(16)
        self._requests.send_multipart(encode(Ping(sent_s=sent_s)))
        self._requests.send_multipart(encode(StatusRequest(request=request)))
        echoed = answered = False
        while not (echoed and answered):
            assert self._requests.poll(WAIT_S * 1000), "the daemon does not answer any more"
            reply = self._reply()
            echoed = echoed or (isinstance(reply, Pong) and reply.sent_s == sent_s)
            answered = answered or (isinstance(reply, Status | Error) and reply.request == request)

    def stop_all(self) -> None:
        """End what the messages may have begun."""
        for one in self._fuzzer.ids:
            self._requests.send_multipart(encode(Cancel(request=one)))
            self._requests.send_multipart(encode(End(session=one, reason="over")))
        self.settle()

    def _reply(self) -> Message | None:
        try:
            return decode(self._requests.recv_multipart())
        except BadMessage as error:
            raise AssertionError(f"a daemon sent what is no message: {error}") from error
