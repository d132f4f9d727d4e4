"""A cloud that misbehaves is left behind: what it sends decides neither whether nor when the device answers."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from harness import Pair, pair

from hocket_bus.messages import Begin, Done, Draft, End, Message, Ready, Refused, Target, Welcome
from hocket_bus.sockets import Bus, Event, Received, Server
from hocket_daemon.engine.sampling import distribution as codec
from hocket_daemon.serving.stream.prefix import PrefixChain
from waiting import WAIT_S, until

SHORT = {"seed": 1, "max_tokens": 5, "ignore_eos": True, "deadline_s": WAIT_S}
PAYLOAD = codec.encode(codec.truncate(np.full(20, 0.05, np.float32), 0.98))

Send = Callable[[Message], None]


class OddCloud:
    """Reads no document and has no model: `on_begin` says what it sends. Keeps what it hears."""

    def __init__(self, endpoint: str, on_begin: Callable[[Begin, Send], None]) -> None:
        self.heard: list[Message] = []
        self._on_begin = on_begin
        self._bus = Bus(self._on_event)
        self._bus.serve(endpoint, lambda _: Welcome(role="cloud", epoch=1))

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, Received):
            return
        assert isinstance(event.port, Server)
        send, route = event.port.send, event.route
        self.heard.append(event.message)
        if isinstance(event.message, Begin):
            self._on_begin(event.message, lambda message: send(route, message))

    def close(self) -> None:
        self._bus.close(0)


def ready(begin: Begin, documents: int) -> Ready:
    return Ready(
        session=begin.session,
        epoch=begin.epoch,
        documents=documents,
        best=0.5,
        scorer="list",
        scorers=["list"],
        retrieval_s=0.0,
        prefill_s=0.0,
    )


def draft(begin: Begin, prefix: int, token: int = 1, payload: bytes = PAYLOAD) -> Draft:
    return Draft(
        session=begin.session,
        epoch=begin.epoch,
        step=0,
        prefix=prefix,
        confirmed=0,
        digest=prefix,
        token=token,
        log_h=0.0,
        decode_s=0.01,
        likelihoods=b"",
        payload=payload,
    )


@pytest.fixture
def parts(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        made.start_retrieval("device")
        yield made


@pytest.mark.slow
def test_a_cloud_that_misses_a_greeting_is_greeted_again(parts: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that goes on alone asks for its cloud until it answers, or refuses for good."""
    monkeypatch.setattr("hocket_daemon.aggregation.partner.RETRY_S", (0.1, 0.2))
    refused = threading.Event()
    begins: list[int] = []

    def on_begin(begin: Begin, send: Send) -> None:
        begins.append(begin.epoch)
        if len(begins) == 4:
            text = "enough"
            send(Refused(session=begin.session, epoch=begin.epoch, code="unavailable", text=text, remedy=""))
            refused.set()

    cloud = OddCloud(parts.endpoint("cloud"), on_begin)
    parts.stack.callback(cloud.close)
    parts.start_device(peer_wait_s=0.2, connect_wait_s=WAIT_S, hold_s=0.05)
    stream = parts.client().ask("kala mira?", **SHORT | {"max_tokens": 100})
    tokens = iter(stream)
    while not refused.is_set():
        next(tokens)
    for _ in range(20):  # a second: ten times what it waited before
        next(tokens)
    assert begins == [0, 1, 2, 3]
    assert stream.result().aggregation.method == "alone"


def answer(
    parts: Pair, on_begin: Callable[[Begin, Send], None], peer_wait_s: float = WAIT_S
) -> tuple[Done, list[str], OddCloud]:
    cloud = OddCloud(parts.endpoint("cloud"), on_begin)
    parts.stack.callback(cloud.close)
    parts.start_device(peer_wait_s=peer_wait_s, connect_wait_s=WAIT_S)
    stream = parts.client().ask("kala mira?", **SHORT)
    done = stream.result()
    return done, stream.notices, cloud


def test_drafts_that_lead_nowhere_do_not_hold_an_answer(parts: Pair) -> None:
    """A cloud that repeats a draft behind a prefix nobody has is late, however busy it is."""
    ended = threading.Event()

    def on_begin(begin: Begin, send: Send) -> None:
        def repeat() -> None:
            while not ended.wait(0.2):
                send(draft(begin, prefix=1))

        send(ready(begin, 1))
        threading.Thread(target=repeat, daemon=True).start()

    try:
        done, notices, _ = answer(parts, on_begin, peer_wait_s=1.0)
    finally:
        ended.set()
    assert done.aggregation.method == "alone"
    assert any("the cloud is late" in notice for notice in notices)


def test_tokens_that_the_model_does_not_have_do_not_fail_an_answer(parts: Pair) -> None:
    payload = codec.encode(codec.Distribution(np.array([262_000]), np.array([65_535]), 1.0))

    def on_begin(begin: Begin, send: Send) -> None:
        send(ready(begin, 1))
        send(draft(begin, PrefixChain(begin.session, begin.sampling.seed).digest, 262_000, payload))

    done, notices, cloud = answer(parts, on_begin)
    assert done.aggregation.method == "alone"
    assert any("a token that this model does not have: use models of one family; answering" in said for said in notices)
    until(lambda: any(isinstance(message, End) and message.reason == "unusable draft" for message in cloud.heard))


def test_a_cloud_without_documents_is_let_go(parts: Pair) -> None:
    """It is told so at once, and nothing more: it must neither decode along nor come back in this answer."""
    done, notices, cloud = answer(parts, lambda begin, send: send(ready(begin, 0)))
    assert done.aggregation.method == "alone"
    assert [notice for notice in notices if "alone" in notice] == ["the cloud has no documents; answering alone"]
    until(lambda: any(isinstance(message, End) for message in cloud.heard))
    of_session = [message for message in cloud.heard if isinstance(message, Begin | Draft | Target | End)]
    assert [at for at, message in enumerate(of_session, start=1) if isinstance(message, End)] == [len(of_session)]
