"""How streams end: by a cancel, whatever happens to the link, and by a close; and that a reader may leave off
and go on. The daemon does nothing but publish."""

from __future__ import annotations

import asyncio
import gc
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from hocket_bus.deadline import Deadline
from hocket_bus.errors import Busy, Cancelled, Unavailable
from hocket_bus.messages import (
    Accepted,
    AggregationOutcome,
    Ask,
    Cancel,
    Credit,
    Done,
    Error,
    Finish,
    Message,
    Resume,
    StatusRequest,
    Token,
    Welcome,
)
from hocket_bus.sockets import Bus, Event, Received
from hocket_client import AsyncClient, AsyncStream, Client
from hocket_client.assembly import Assembly
from hocket_client.question import ask_message
from hocket_daemon.serving.sessions.requests import Streams
from hocket_daemon.serving.stream.reply import Stream
from waiting import WAIT_S, until

TOKENS = 5


class Publisher:
    """Publishes the same tokens for every question, and the end when that is cancelled."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.got: list[Message] = []
        self.full = False  # whether it refuses questions
        self.batch = 1  # so many messages are published together, the last one first
        self._held: list[tuple[bytes, Message]] = []
        self._forget()
        self.open()

    def open(self) -> None:
        """Come back from a break, with what was known before it."""
        self._bus = Bus(self._on_event)
        self._server = self._bus.serve(self.endpoint, lambda _: Welcome(role="device", epoch=1))

    def restart(self) -> None:
        """Come back with nothing in work."""
        self._forget()
        self.open()

    def break_off(self, client: Client | Awaited) -> None:
        """Hang up, and wait until the client has noticed."""
        self.close()
        until(lambda: not client._connection._up)

    def count(self, kind: type[Message]) -> int:
        return sum(isinstance(message, kind) for message in self.got)

    def finish(self) -> None:
        """End what is in work."""
        self._bus.post(lambda: [end(self._streams.of(request), "eos") for request in self._streams.unread(-1.0)])

    def silence_s(self, _route: bytes) -> float:
        return 0.0

    def close(self) -> None:
        self._bus.close(0)

    def publish(self, topic: bytes, message: Message) -> None:
        self._held.append((topic, message))
        if len(self._held) >= self.batch:
            for held in reversed(self._held):
                self._server.publish(*held)
            self._held.clear()

    def send(self, route: bytes, message: Message) -> None:
        self._server.send(route, message)

    def _forget(self) -> None:
        self._streams = Streams(self, 1 << 20)  # type: ignore[arg-type] # its server is another one after a break

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, Received):
            return
        message = event.message
        self.got.append(message)
        if isinstance(message, Ask):
            self._answer(event, message)
        elif isinstance(message, Cancel):
            stream = self._streams.find(message.request, event)
            if stream is not None and stream.ended_s is None:
                end(stream, "cancelled")
        elif isinstance(message, Resume | Credit):
            self._streams.read_on(event, message)

    def _answer(self, event: Received, ask: Ask) -> None:
        if self.full:
            self.send(event.route, Error(code="busy", text="full", request=ask.request))
            return
        self.send(event.route, Accepted(request=ask.request))
        if self._streams.find(ask.request, event) is None:
            stream = self._streams.open(ask, event.route, "")
            for number in range(TOKENS):
                stream.token(step=number, token=number, text="t", source="both")


class Awaited:
    """The asynchronous client with the blocking one's verbs: its loop turns while something is awaited."""

    def __init__(self, endpoint: str) -> None:
        self._runner = asyncio.Runner()
        self._client = AsyncClient(endpoint, connect_s=WAIT_S)
        self._runner.run(self._client.__aenter__())
        self._connection = self._client._connection

    def ask(self, question: str, **options: Any) -> AwaitedStream:
        async def ask() -> AsyncStream:
            return self._client.ask(question, **options)

        return AwaitedStream(self._runner, self._runner.run(ask()))

    def turn(self) -> None:
        """Let the loop end what was left in the middle."""

        async def turn() -> None:
            for _ in range(100):
                await asyncio.sleep(0)

        self._runner.run(turn())

    def close(self) -> None:
        self._runner.run(self._client.close())
        self._runner.close()


class AwaitedStream:
    def __init__(self, runner: asyncio.Runner, stream: AsyncStream) -> None:
        self._runner, self.stream, self.cancel = runner, stream, stream.cancel

    def __iter__(self) -> Iterator[Token]:
        tokens = aiter(self.stream)

        async def following() -> Token | None:
            return await anext(tokens, None)

        while (token := self._runner.run(following())) is not None:
            yield token

    def result(self) -> Done:
        return self._runner.run(self.stream.result())


def end(stream: Stream, finish: Finish) -> None:
    stream.end(
        Done(
            request=stream.request, seq=stream.seq, finish=finish, token_ids=list(range(TOKENS)), text="", ttft_s=0.0,
            ms_per_token=0.0, mode="aggregation", outcome=AggregationOutcome(method="coupled"), seed=1,
        )
    )  # fmt: skip


@pytest.fixture
def daemon() -> Iterator[Publisher]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        made = Publisher(f"ipc://{folder}/x")
        yield made
        made.close()


@pytest.fixture
def blocking(daemon: Publisher) -> Iterator[Client]:
    with Client(daemon.endpoint, connect_s=WAIT_S) as made:
        yield made


@pytest.fixture(params=["blocking", "asynchronous"])
def client(daemon: Publisher, request: pytest.FixtureRequest) -> Iterator[Client | Awaited]:
    made = Client(daemon.endpoint, connect_s=WAIT_S) if request.param == "blocking" else Awaited(daemon.endpoint)
    yield made
    made.close()


def test_a_cancel_during_a_break_is_told_after_it(daemon: Publisher, client: Client | Awaited) -> None:
    """The stream ends as cancelled, whole; nobody asks again."""
    stream = client.ask("q", deadline_s=WAIT_S)
    first = next(iter(stream))
    daemon.break_off(client)
    stream.cancel()
    daemon.open()
    assert [first.id, *(token.id for token in stream)] == list(range(TOKENS))
    assert stream.result().finish == "cancelled"
    assert daemon.count(Ask) == 1


def test_a_question_that_is_cancelled_before_a_daemon_has_it_is_not_asked(
    daemon: Publisher, client: Client | Awaited
) -> None:
    """Asked and cancelled during a break, it ends as cancelled when the daemon says that it knows nothing of it."""
    daemon.break_off(client)
    stream = client.ask("q", seed=7, deadline_s=WAIT_S)
    stream.cancel()
    daemon.open()
    done = stream.result()
    assert (done.finish, done.token_ids, done.seed) == ("cancelled", [], 7)
    assert daemon.count(Ask) == 0


def test_a_cancelled_stream_that_its_daemon_lost_ends_in_an_error(daemon: Publisher, client: Client | Awaited) -> None:
    """Some of it was read and the rest is gone: that is no end as cancelled."""
    stream = client.ask("q", deadline_s=WAIT_S)
    next(iter(stream))
    daemon.break_off(client)
    stream.cancel()
    daemon.restart()
    with pytest.raises(Unavailable, match="not here any more"):
        stream.result()


def test_a_cancel_is_repeated_until_the_end_is_known() -> None:
    """Whether the question was accepted or not; a refusal of a cancelled question is its end."""
    for accepted in (False, True):
        assembly = Assembly(ask_message("q", topic=bytes(16), seed=7))
        assembly.accepted = accepted
        cancel = assembly.cancel()
        for _ in range(2):
            assert assembly.nudge() == [cancel, Resume(request=assembly.ask.request, topic=bytes(16), seq=0)]
    untaken = Assembly(ask_message("q", topic=bytes(16), seed=7))
    untaken.cancel()
    (done,) = untaken.feed(Error(code="busy", text="full", request=untaken.ask.request))
    assert done is untaken.done
    assert not isinstance(done, Token)


def test_closing_a_client_ends_its_streams_at_once(blocking: Client) -> None:
    """Also for a thread that waits. A closed client takes no question, and may be closed again."""
    stream = blocking.ask("q", deadline_s=WAIT_S)
    reading = iter(stream)
    assert [next(reading).id for _ in range(TOKENS)] == list(range(TOKENS))
    closing = threading.Thread(target=blocking.close)
    closing.start()
    with pytest.raises(Cancelled, match="the client was closed"):
        next(reading)
    closing.join(WAIT_S)
    with pytest.raises(Cancelled, match="the client was closed"):
        blocking.ask("q")
    with pytest.raises(Cancelled, match="the client was closed"):
        blocking.status(WAIT_S)
    blocking.close()


def test_a_status_that_is_waited_for_ends_with_its_client(daemon: Publisher, blocking: Client) -> None:
    """The daemon never answers it."""
    closing = threading.Thread(target=lambda: (until(lambda: daemon.count(StatusRequest) == 1), blocking.close()))
    closing.start()
    with pytest.raises(Cancelled, match="the client was closed"):
        blocking.status(WAIT_S)
    closing.join(WAIT_S)


def test_closing_an_asynchronous_client_does_the_same(daemon: Publisher) -> None:
    """For a task that waits, and for who asks afterwards."""

    async def close_while_reading() -> None:
        client = AsyncClient(daemon.endpoint, connect_s=WAIT_S)
        async with client:
            reading = aiter(client.ask("q", deadline_s=WAIT_S))
            assert [(await anext(reading)).id for _ in range(TOKENS)] == list(range(TOKENS))
            closing = asyncio.create_task(client.close())
            with pytest.raises(Cancelled, match="the client was closed"):
                await anext(reading)
            await closing
        with pytest.raises(Cancelled, match="the client was closed"):
            client.ask("q")

    asyncio.run(close_while_reading())


def test_who_leaves_off_reading_can_go_on(daemon: Publisher, client: Client | Awaited) -> None:
    """Leaving a loop cancels nothing and loses nothing, not even of what one message made readable."""
    daemon.batch = TOKENS
    stream = client.ask("q", deadline_s=WAIT_S)
    for number in range(TOKENS):
        for token in stream:
            assert token.id == number
            break
    daemon.batch = 1
    daemon.finish()
    assert list(stream) == []
    assert stream.result().finish == "eos"
    assert daemon.count(Cancel) == 0


def test_what_ended_a_stream_is_raised_whenever_it_is_read(daemon: Publisher, client: Client | Awaited) -> None:
    """At once, and always the same."""
    daemon.full = True
    stream = client.ask("q", deadline_s=WAIT_S)
    for read in (stream.result, lambda: list(stream), stream.result):
        with pytest.raises(Busy, match="full"):
            read()


def test_what_came_in_time_is_read_after_the_deadline(daemon: Publisher, client: Client | Awaited) -> None:
    """However late its reader is, and whatever else kept its loop."""
    stream = client.ask("q", deadline_s=WAIT_S)
    until(lambda: daemon.count(Ask) == 1)
    daemon.finish()
    reader = stream.stream if isinstance(stream, AwaitedStream) else stream
    inbox = reader._inbox._items if isinstance(reader, AsyncStream) else reader._inbox
    until(lambda: inbox.qsize() == TOKENS + 2)
    reader._deadline = Deadline.after(0.0)
    assert [token.id for token in stream] == list(range(TOKENS))
    assert stream.result().finish == "eos"


def test_a_stream_that_nobody_holds_is_cancelled_and_forgotten(daemon: Publisher, client: Client | Awaited) -> None:
    """A loop that was left drops it, a name keeps it."""
    held = client.ask("held?", deadline_s=WAIT_S)
    next(iter(held))
    for _ in range(3):
        for _ in client.ask("q", deadline_s=WAIT_S):
            break
    gc.collect()
    if isinstance(client, Awaited):
        client.turn()
    until(lambda: daemon.count(Cancel) == 3)
    assert client._connection is not None
    assert len(client._connection._receivers) == len(client._connection._nudges) == 1
    daemon.finish()
    assert held.result().finish == "eos"


def test_a_stream_dropped_on_the_io_thread_waits_until_that_is_free(daemon: Publisher, blocking: Client) -> None:
    """As a collection may do it between two frames of another message; nothing is sent in the middle of it."""
    streams = [blocking.ask("q", deadline_s=WAIT_S)]
    next(iter(streams[0]))
    sent: list[Message] = []
    link, bus = blocking._connection._link, blocking._connection._bus
    send = link._send

    def note(message: Message, frames: list[bytes]) -> None:
        sent.append(message)
        send(message, frames)

    def drop() -> None:
        before = len(sent)
        streams.clear()
        gc.collect()
        assert len(sent) == before

    link._send = note  # type: ignore[method-assign]
    bus._call(drop)
    until(lambda: daemon.count(Cancel) == 1)


def test_what_arrives_for_a_loop_that_has_ended_harms_nobody(daemon: Publisher, blocking: Client) -> None:
    """Its stream is held beyond the loop; the I/O thread goes on, and its client can still be closed."""
    client = AsyncClient(daemon.endpoint, connect_s=WAIT_S)

    async def ask() -> AsyncStream:
        await client.__aenter__()
        return client.ask("q", deadline_s=WAIT_S)

    stream = asyncio.run(ask())
    inbox = stream._inbox._items
    until(lambda: inbox.qsize() == TOKENS + 1)
    asyncio.run(client.close())
    assert inbox.qsize() == TOKENS + 2
