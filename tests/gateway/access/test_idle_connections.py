"""Clients that let the gateway wait, with half a request or with what they do not read: others are served meanwhile."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx2
import pytest
from serving import SHORT, USER, Served, running_gateway, served

from hocket_gateway import server
from hocket_gateway.http import body
from hocket_gateway.settings import ServeSettings
from waiting import WAIT_S, until

CHAT = "/v1/chat/completions"
CONNECTIONS = 16
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Len"
BODY = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
CHUNK = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"
ALONE = {"model": "hocket-alone", "messages": USER, **SHORT}


@pytest.fixture
def small(tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """Which takes few connections, so that few fill it."""
    monkeypatch.setattr(server, "MAX_CONNECTIONS", CONNECTIONS)
    with served(tiny_models, hold_s=0.05) as there:
        yield there


def connected(port: int, begun: bytes) -> socket.socket:
    there = socket.create_connection(("127.0.0.1", port), timeout=WAIT_S)
    there.sendall(begun)
    return there


@pytest.mark.parametrize("begun", [b"", HEAD, BODY, CHUNK])
def test_who_does_not_ask_gives_way_to_who_does(small: Served, begun: bytes) -> None:
    """However many there are: a question is answered, and one in work goes on to its end."""
    body = {**ALONE, "max_tokens": 30, "stream": True}
    with ExitStack() as slow, httpx2.stream("POST", small.url + CHAT, json=body, timeout=WAIT_S) as stream:
        lines = stream.iter_lines()
        next(line for line in lines if "source" in line)
        for _ in range(4 * CONNECTIONS):
            slow.enter_context(connected(small.port, begun))
        assert httpx2.post(small.url + CHAT, json=ALONE, timeout=WAIT_S).status_code == 200
        rest = [line for line in lines if line]
    assert rest[-1] == "data: [DONE]"


def test_where_all_are_in_work_the_next_is_refused_until_one_ends(
    small: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 3)
    body = {**ALONE, "max_tokens": 30, "stream": True}
    with ExitStack() as in_work:
        for _ in range(2):
            stream = in_work.enter_context(httpx2.stream("POST", small.url + CHAT, json=body, timeout=WAIT_S))
            assert stream.status_code == 200
        assert httpx2.post(small.url + CHAT, json=ALONE, timeout=WAIT_S).status_code == 503
    until(lambda: httpx2.post(small.url + CHAT, json=ALONE, timeout=WAIT_S).status_code == 200)


@pytest.mark.parametrize("begun", [BODY, CHUNK])
def test_a_body_that_does_not_end_is_a_408(begun: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "READ_S", 0.05)
    with running_gateway(ServeSettings(port=0, device=f"ipc://{tmp_path}/none")) as (port, _):  # noqa: SIM117
        with connected(port, begun) as there:
            assert there.recv(65_536).split()[1] == b"408"


def test_a_body_without_an_end_is_refused_and_its_connection_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though more comes and comes."""
    monkeypatch.setattr(server, "HEAD_S", 0.05)
    settings = ServeSettings(port=0, device=f"ipc://{tmp_path}/none", max_body_bytes=2_000)
    for path in (CHAT, "/mcp"):
        with running_gateway(settings) as (port, running):
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            with connected(port, head.encode()) as there, suppress(ConnectionError):
                while True:
                    there.sendall(b"400\r\n" + b"x" * 1024 + b"\r\n")
            until(lambda: not running.server_state.connections)


def test_what_nobody_reads_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many answers are asked for and none is read: the connection ends as soon as no byte moves."""
    monkeypatch.setattr(server, "HEAD_S", 0.2)
    with running_gateway(ServeSettings(port=0, device=f"ipc://{tmp_path}/none")) as (port, running):
        there = socket.socket()
        there.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        with there:
            there.connect(("127.0.0.1", port))
            there.sendall(b"GET /page/turn.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2_000)
            until(lambda: any(each.transport.get_write_buffer_size() for each in running.server_state.connections))
            until(lambda: not running.server_state.connections)
