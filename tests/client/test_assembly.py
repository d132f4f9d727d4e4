"""The client's laws: every event once and in order, whatever is lost, repeated or reordered on the way."""

from __future__ import annotations

import asyncio
import math
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import Pair, pair
from hypothesis import given
from hypothesis import strategies as st

from hocket_bus.errors import BadRequest, Busy, Unavailable
from hocket_bus.messages import AggregationOutcome, Done, Error, Failed, Message, Resume, Token
from hocket_client import AsyncClient
from hocket_client.assembly import Assembly
from hocket_client.question import ask_message
from waiting import WAIT_S

SHORT = {"seed": 3, "max_tokens": 12, "ignore_eos": True}


def stream_of(request: bytes, tokens: int) -> list[Message]:
    events: list[Message] = [
        Token(request=request, seq=i, step=i, id=i, text=f"t{i} ", source="both", t_s=0.0) for i in range(tokens)
    ]
    end = Done(
        request=request, seq=tokens, finish="eos", token_ids=list(range(tokens)), text="", ttft_s=0.0, ms_per_token=0.0,
        mode="aggregation", outcome=AggregationOutcome(method="coupled"), seed=1,
    )  # fmt: skip
    return [*events, end]


@given(st.integers(0, 2**32), st.integers(0, 30), st.floats(0, 0.9))
def test_any_loss_repetition_and_order_is_made_good_by_resuming(salt: int, tokens: int, loss: float) -> None:
    """The daemon answers each nudge with the events from there on; the assembly ends whole."""
    rng = random.Random(salt)
    assembly = Assembly(ask_message("q", topic=bytes(16)))
    sent = stream_of(assembly.ask.request, tokens)
    got: list[Message] = []
    first = sent
    while assembly.done is None:
        arriving = [event for event in first for _ in range(rng.randint(1, 2)) if rng.random() >= loss]
        rng.shuffle(arriving)
        for event in arriving:
            got += assembly.feed(event)
        (nudge,) = assembly.nudge()
        first = sent[nudge.seq :] if isinstance(nudge, Resume) else sent
    assert got == sent


def test_what_came_before_an_error_is_read_before_it() -> None:
    """A gap in front of the error is filled: the token comes out, the error is asked for again and raised."""
    assembly = Assembly(ask_message("q", topic=bytes(16)))
    token, *_ = stream_of(assembly.ask.request, 1)
    failed = Failed(request=assembly.ask.request, seq=1, code="unavailable", text="no", remedy="wait")
    assert assembly.feed(failed) == []
    assert assembly.feed(token) == [token]
    (again,) = assembly.reply()
    assert isinstance(again, Resume)
    assert again.seq == 1
    with pytest.raises(Unavailable, match="no: wait"):
        assembly.feed(failed)


def test_what_no_daemon_could_read_is_refused_before_it_is_sent() -> None:
    """Such a question would wait for its whole deadline, or for ever."""
    for odd in ({"deadline_s": math.inf}, {"stop": ("x" * 3_000,)}, {"task": "guess"}, {"weights": "\ud800"}):
        with pytest.raises(BadRequest):
            ask_message("q", topic=bytes(16), **odd)  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match="a stop text is empty: leave it out"):
        ask_message("q", topic=bytes(16), stop=("x", ""))
    with pytest.raises(BadRequest, match="cannot be sent"):
        ask_message("\udcff", topic=bytes(16))


def test_errors_become_typed_exceptions() -> None:
    """By what the caller can do, before the stream and at its end."""
    assembly = Assembly(ask_message("q", topic=bytes(16)))
    with pytest.raises(Busy, match="full: later"):
        assembly.feed(Error(code="busy", text="full", remedy="later", request=assembly.ask.request))
    with pytest.raises(BadRequest, match="no: change it"):
        assembly.feed(Failed(request=assembly.ask.request, seq=0, code="bad_request", text="no", remedy="change it"))


@pytest.fixture(scope="module")
def running(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models) as made:
        yield made


def test_a_stream_resumes_from_what_the_daemon_keeps(running: Pair) -> None:
    """After the end, a resume from any number brings exactly the events from there on."""
    client = running.client()
    stream = client.ask("kala?", **SHORT)
    tokens = list(stream)
    stream.result()
    ask = stream._assembly.ask
    for seq in (0, 5, 12):
        again = Assembly(ask)
        again._next = seq
        inbox = stream._inbox
        client._connection.expect(ask.request, inbox.put)
        client._connection.send(Resume(request=ask.request, topic=ask.topic, seq=seq))
        events = []
        while again.done is None:
            events += again.feed(inbox.get(timeout=WAIT_S))
        read = [event for event in events if isinstance(event, Token)]
        assert read == [token for token in tokens if token.seq >= seq]


def test_the_asynchronous_client_gives_the_same_stream(running: Pair) -> None:
    """Tokens, text and result equal those of the blocking client; several streams run at once."""
    want = running.client().ask("kala?", **SHORT).result()

    async def ask_three() -> list[tuple[list[int], Done]]:
        async with AsyncClient(running.endpoint("device")) as client:
            streams = [client.ask("kala?", **SHORT) for _ in range(3)]
            ids = [[token.id async for token in stream] for stream in streams]
            return list(zip(ids, [await stream.result() for stream in streams], strict=True))

    for ids, done in asyncio.run(ask_three()):
        assert ids == done.token_ids == want.token_ids
        assert done.text == want.text


def test_stop_strings_end_the_text_before_them(running: Pair) -> None:
    """Finish says stop, and the text is what came before. A single string is one, and not one for each letter."""
    whole = running.client().ask("kala?", **SHORT).result().text
    stop = whole[len(whole) // 2 :][:3]
    for either in ((stop,), stop):
        done = running.client().ask("kala?", stop=either, **SHORT).result()
        assert done.finish == "stop"
        assert done.text == whole[: whole.index(stop)]
