"""What a program can know of a question before its first token: that it was taken, or why it was not."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator

import pytest
from silent import Silent

from hocket_bus.errors import Busy, DeadlineExceeded
from hocket_bus.messages import Accepted, Ask, Error, Message, Status, StatusRequest, Welcome
from hocket_bus.sockets import Bus, Event, Received, Server
from hocket_client import AsyncClient, Client
from waiting import WAIT_S, until


class Taking:
    """A daemon that takes questions, or refuses them where one is 'busy', and says how it is."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self._bus = Bus(self._on_event)
        self._bus.serve(endpoint, lambda _: Welcome(role="device", epoch=1))

    def close(self) -> None:
        self._bus.close(0)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Received) and isinstance(event.message, Ask | StatusRequest):
            assert isinstance(event.port, Server)
            event.port.send(event.route, self._answer(event.message))

    def _answer(self, asked: Ask | StatusRequest) -> Message:
        if isinstance(asked, StatusRequest):
            return Status(request=asked.request, role="device", ready=True, facts={"model": "x"})
        if asked.prompt.query == "busy":
            return Error(code="busy", text="full", remedy="wait", request=asked.request, retry_after_s=3.0)
        return Accepted(request=asked.request)


@pytest.fixture
def taking() -> Iterator[Taking]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        made = Taking(f"ipc://{folder}/x")
        yield made
        made.close()


def test_it_is_known_that_a_question_was_taken(taking: Taking) -> None:
    """Before any token, and as often as it is asked."""

    async def asked() -> list[bool]:
        async with AsyncClient(taking.endpoint, connect_s=WAIT_S) as client:
            stream = client.ask("kala?")
            return [await stream.accepted(WAIT_S), await stream.accepted(0)]

    assert asyncio.run(asked()) == [True, True]


def test_a_refusal_is_raised_with_its_reason(taking: Taking) -> None:
    async def asked() -> None:
        async with AsyncClient(taking.endpoint, connect_s=WAIT_S) as client:
            await client.ask("busy").accepted(WAIT_S)

    with pytest.raises(Busy) as caught:
        asyncio.run(asked())
    assert caught.value.retry_after_s == 3.0


def test_a_daemon_that_says_nothing_is_waited_for_that_long(daemon: Silent) -> None:
    """And no longer; the question is not given up."""

    async def asked() -> bool:
        async with AsyncClient(daemon.endpoint, connect_s=WAIT_S) as client:
            return await client.ask("kala?").accepted(0.05)

    assert asyncio.run(asked()) is False
    until(lambda: any(isinstance(message, Ask) for message in daemon.got))


def test_both_clients_tell_how_a_daemon_is(taking: Taking, daemon: Silent) -> None:
    """Or that it does not say."""

    async def status(endpoint: str, wait_s: float) -> Status:
        async with AsyncClient(endpoint, connect_s=WAIT_S) as client:
            return await client.status(wait_s)

    with Client(taking.endpoint, connect_s=WAIT_S) as client:
        assert asyncio.run(status(taking.endpoint, WAIT_S)).facts == client.status(WAIT_S).facts == {"model": "x"}
    with pytest.raises(DeadlineExceeded):
        asyncio.run(status(daemon.endpoint, 0.05))
