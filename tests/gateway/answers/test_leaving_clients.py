"""A closed connection ends its question, whatever it waits for."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import USER, Served, served

from waiting import WAIT_S, until

LONG = 200  # tokens, of which each takes HOLD_S


@pytest.fixture(scope="module")
def slow(tiny_models: dict[str, Path]) -> Iterator[Served]:
    with served(tiny_models, hold_s=0.1) as there:
        yield there


def connected(front: Served, path: str, **body: object) -> socket.socket:
    """A connection on which a request was sent."""
    raw = json.dumps({"model": "hocket-alone", "messages": USER, "max_tokens": LONG, **body}).encode()
    there = socket.create_connection(("127.0.0.1", front.port), timeout=WAIT_S)
    kind = "Content-Type: application/json"
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{kind}\r\nContent-Length: {len(raw)}\r\n\r\n"
    there.sendall(head.encode() + raw)
    return there


def tokens(front: Served) -> float:
    """All that the device daemon has published."""
    metrics = front.pair.client().status(WAIT_S).metrics
    return sum(value for name, value in metrics.items() if name.startswith("tokens_total"))


def read_tokens(there: socket.socket, number: int) -> None:
    """Read until so many tokens have come."""
    text = b""
    while text.count(b'"source":') < number:
        piece = there.recv(4_096)
        assert piece, text
        text += piece


@pytest.mark.parametrize("model", ["hocket", "hocket-alone", "hocket-dispatch"])
def test_a_stream_that_is_closed_ends_the_question(slow: Served, model: str) -> None:
    """Within a token: of those that were asked for hardly more are written than were read."""
    before = tokens(slow)
    with connected(slow, "/v1/chat/completions", stream=True, model=model) as there:
        read_tokens(there, 3)
        assert slow.in_work() == 1
    until(lambda: slow.in_work() == 0)
    assert tokens(slow) - before < LONG / 4


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {}),
        ("/v1/completions", {"prompt": "kala mira"}),
        ("/v1/responses", {"input": "kala mira?", "max_output_tokens": LONG}),
        ("/api/chat", {"options": {"num_predict": LONG}}),
        ("/api/generate", {"prompt": "kala mira?", "options": {"num_predict": LONG}}),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_one_that_is_closed_before_anything_came_does_so_too(
    slow: Served, path: str, body: dict[str, object], stream: bool
) -> None:
    """Also where the whole answer is waited for, of which no byte was sent."""
    before = tokens(slow)
    with connected(slow, path, stream=stream, **body):
        until(lambda: slow.in_work() == 1)
    until(lambda: slow.in_work() == 0)
    assert tokens(slow) - before < LONG / 4


def test_who_leaves_gives_the_place_back(tiny_models: dict[str, Path]) -> None:
    """A key that may ask one question at once asks again and again."""
    with served(tiny_models, hold_s=0.05, at_once=1) as front:
        for _ in range(3):
            with connected(front, "/v1/chat/completions", stream=True) as there:
                read_tokens(there, 1)
                with connected(front, "/v1/chat/completions") as other:
                    assert b"429" in other.recv(4_096).splitlines()[0]
            until(lambda: front.in_work() == 0)
