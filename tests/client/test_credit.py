"""Slow readers: they stall nobody, lose nothing that is kept, and are told of what is not."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket_bus.errors import Unavailable
from hocket_bus.messages import AggregationOutcome, Ask, Credit, Done, Lost, Message, Resume, Token, Welcome
from hocket_bus.sockets import Bus, Event, Received
from hocket_client.assembly import SILENCE_S, Assembly
from hocket_client.connection import Connection
from hocket_client.question import ask_message
from hocket_daemon.serving.sessions.requests import Streams
from hocket_daemon.serving.stream.ended import ENDED_LOGS, STREAM_BYTES
from hocket_daemon.serving.stream.reply import Stream
from waiting import WAIT_S

BURST = 30_000
ROOMY, TIGHT = 1 << 25, 1 << 16  # bytes: all of a burst, about 900 events


def asked(topic: bytes, window: int) -> Ask:
    return msgspec.structs.replace(ask_message("q", topic=topic), window=window)


def done(stream: Stream) -> Done:
    return Done(
        request=stream.request, seq=stream.seq, finish="eos", token_ids=[], text="", ttft_s=0.0, ms_per_token=0.0,
        mode="aggregation", outcome=AggregationOutcome(method="coupled"), seed=1,
    )  # fmt: skip


@settings(max_examples=50)
@given(
    salt=st.integers(0, 2**32),
    tokens=st.integers(0, 200),
    window=st.integers(1, 40),
    loss=st.floats(0, 0.5),
    log_bytes=st.sampled_from([ROOMY, 4000]),
)
def test_whatever_is_lost_on_the_way_the_reader_gets_all_or_is_told(
    salt: int, tokens: int, window: int, loss: float, log_bytes: int
) -> None:
    """Nothing runs a window ahead of the reader; what comes is whole, or ends in an error that names the gap."""
    rng = random.Random(salt)
    assembly = Assembly(asked(bytes(16), window))
    assembly.accepted = True
    way: list[Message] = []
    stream = Stream(assembly.ask, b"", "", lambda _, event: way.append(event), log_bytes)
    got: list[int] = []
    told = ""
    try:
        while assembly.done is None:
            for _ in range(rng.randint(0, 30)):
                if stream.seq < tokens:
                    stream.token(step=stream.seq, token=stream.seq, text="t", source="both")
                elif stream.ended_s is None:
                    stream.end(done(stream))
            assert all(event.seq < assembly._next + window for event in way if isinstance(event, Token | Done))
            arriving, way[:] = [event for event in way if rng.random() >= loss], []
            for event in arriving:
                got += [each.seq for each in assembly.feed(event)]
                say(stream, assembly, *assembly.reply())
            if not arriving:
                say(stream, assembly, *assembly.nudge())
    except Unavailable as error:
        told = str(error)
    if assembly._next >= stream.first:
        assert (told, got) == ("", list(range(tokens + 1)))
    else:
        assert f"events {assembly._next} to {stream.first - 1} " in told


def say(stream: Stream, assembly: Assembly, *messages: Message) -> None:
    for message in messages:
        assert isinstance(message, Credit | Resume)
        kept = (stream.resume if isinstance(message, Resume) else stream.grant)(message.seq)
        if not kept:
            assembly.feed(Lost(request=stream.request, first=stream.first))


class Publisher:
    """A daemon that does nothing but publish."""

    def __init__(self, endpoint: str, log_bytes: int) -> None:
        self._bus = Bus(self._on_event)
        self.server = self._bus.serve(endpoint, lambda _: Welcome(role="device", epoch=1))
        self.streams = Streams(self.server, log_bytes)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Received) and isinstance(event.message, Credit | Resume):
            self.streams.read_on(event, event.message)

    def burst(self, assembly: Assembly) -> Stream:
        stream = self.streams.open(assembly.ask, b"", "")
        for number in range(BURST):
            stream.token(step=number, token=number, text="t", source="both")
        stream.end(done(stream))
        return stream

    def settle(self) -> None:
        """Wait until all has been handed to libzmq."""
        self._bus._call(lambda: None)

    def close(self) -> None:
        self._bus.close()


class Reader:
    """A client that reads when it is told to."""

    def __init__(self, endpoint: str, window: int = 512) -> None:
        self.connection = Connection(endpoint, None)
        self.connection.wait_up(WAIT_S)
        self.inbox: SimpleQueue[Message] = SimpleQueue()
        self.assembly = Assembly(asked(self.connection.topic, window))
        self.assembly.accepted = True
        self.connection.expect(self.assembly.ask.request, self.inbox.put)

    def wait_for(self, number: int) -> None:
        """Until so many events have arrived; nothing is read."""
        for message in [self.inbox.get(timeout=WAIT_S) for _ in range(number)]:
            self.inbox.put(message)

    def read(self) -> Iterator[Message]:
        while self.assembly.done is None:
            try:
                message = self.inbox.get(timeout=SILENCE_S)
            except Empty:
                self.connection.send(*self.assembly.nudge())
                continue
            yield from self.assembly.feed(message)
            self.connection.send(*self.assembly.reply())


@pytest.fixture
def publisher(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Publisher, str]]:
    endpoint = f"ipc://{tmp_path}/x"
    made = Publisher(endpoint, request.param)
    yield made, endpoint
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("publisher", [ROOMY], indirect=True)
def test_a_stalled_reader_holds_up_nobody_and_gets_everything_later(publisher: tuple[Publisher, str]) -> None:
    """A burst of 100,000: no more than a window waits at the reader, another one's stream is whole meanwhile."""
    daemon, endpoint = publisher
    stalled, brisk = Reader(endpoint), Reader(endpoint)
    daemon.burst(stalled.assembly)
    daemon.burst(brisk.assembly)
    assert [event.seq for event in brisk.read()] == list(range(BURST + 1))
    assert stalled.inbox.qsize() <= stalled.assembly.ask.window
    assert [event.seq for event in stalled.read()] == list(range(BURST + 1))
    for reader in (stalled, brisk):
        reader.connection.close()


@pytest.mark.parametrize("publisher", [TIGHT], indirect=True)
def test_what_a_stalled_reader_can_no_longer_get_is_named(publisher: tuple[Publisher, str]) -> None:
    """The log is bounded in bytes; after it has overflown the reader gets what it was sent, then one error."""
    daemon, endpoint = publisher
    stalled = Reader(endpoint)
    stream = daemon.burst(stalled.assembly)
    assert sum(len(event.text) for event in stream._log if isinstance(event, Token)) < TIGHT
    stalled.wait_for(512)
    got: list[int] = []
    with pytest.raises(Unavailable, match=rf"events 512 to {stream.first - 1} .* no longer kept: read faster"):
        got.extend(event.seq for event in stalled.read())
    assert got == list(range(512))
    stalled.connection.close()


@pytest.mark.long
@pytest.mark.parametrize("publisher", [ROOMY], indirect=True)
def test_a_reader_whose_thread_stands_still_misses_nothing(publisher: tuple[Publisher, str]) -> None:
    """With credit for all 100,000 at once, they wait in its socket; no process ends, no event is missing."""
    daemon, endpoint = publisher
    stalled = Reader(endpoint, window=BURST + 1)
    released = threading.Event()

    def stand_still(message: Message) -> None:
        assert released.wait(WAIT_S)
        stalled.inbox.put(message)

    stalled.connection.expect(stalled.assembly.ask.request, stand_still)
    daemon.burst(stalled.assembly)
    daemon.settle()
    released.set()
    assert [event.seq for event in stalled.read()] == list(range(BURST + 1))
    stalled.connection.close()


def test_ended_streams_keep_a_bounded_amount_together() -> None:
    """However many end within a minute: the newest can be resumed, the oldest are let go of, one in work never is."""
    server = SimpleNamespace(publish=lambda *_: None)
    streams = Streams(server, TIGHT)  # type: ignore[arg-type]
    running = streams.open(asked(bytes(16), 1), b"", "")
    opened = [streams.open(asked(bytes(16), 1), b"", "") for _ in range(3 * ENDED_LOGS)]
    for stream in opened:
        for number in range(2 * TIGHT // 64):
            stream.token(step=number, token=number, text="t", source="both")
        stream.end(done(stream))
        streams.forget()
    kept = [stream for stream in opened if is_kept(streams, stream)]
    assert kept == opened[-len(kept) :]
    assert (ENDED_LOGS - 1) * TIGHT < sum(stream.held_bytes for stream in kept) <= ENDED_LOGS * TIGHT
    assert streams.of(running.request) is running


@pytest.mark.slow
def test_one_keys_ended_streams_drive_out_no_others() -> None:
    """A key that keeps a fair share keeps it, however many of another's end behind it, with a log or without."""
    for events in (2 * TIGHT // 64, 0):
        streams = Streams(SimpleNamespace(publish=lambda *_: None), TIGHT)  # type: ignore[arg-type]
        honest = [streams.open(asked(bytes(16), 1), b"", "honest") for _ in range(2)]
        hostile = [streams.open(asked(bytes(16), 1), b"", "hostile") for _ in range(40 * ENDED_LOGS)]
        for stream in honest + hostile:
            for number in range(events):
                stream.token(step=number, token=number, text="t", source="both")
            stream.end(done(stream))
            streams.forget()
        assert all(is_kept(streams, stream) for stream in honest)
        kept = [stream for stream in hostile if is_kept(streams, stream)]
        assert kept == hostile[-len(kept) :]
        assert len(kept) <= ENDED_LOGS * max(1, TIGHT // STREAM_BYTES)


def is_kept(streams: Streams, stream: Stream) -> bool:
    event = SimpleNamespace(user=stream.user, route=b"")
    return streams.find(stream.request, event) is stream  # type: ignore[arg-type]
