"""Laws of a process that was forked: a client stays the parent's, and whoever uses it in the child is told at once."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Callable

from silent import Silent

from hocket_bus.errors import Unavailable
from hocket_bus.messages import Compose, Edit, StatusRequest
from hocket_client import AsyncClient, Client
from waiting import WAIT_S, until

HERE = f"this client belongs to process {os.getpid()}, from which this one was forked"
AT_ONCE_S = 30  # the child is ended then; what is waited for takes WAIT_S


def in_child(*calls: Callable[[], object]) -> list[str]:
    """What each raises, or returns, in a forked process; one that hangs is ended."""
    import signal

    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside threads is what this is about
        child = os.fork()
    if child == 0:
        signal.alarm(AT_ONCE_S)
        for call in calls:
            try:
                said = f"{call()}"
            except Exception as error:  # noqa: BLE001 - told to the parent
                said = f"{type(error).__name__}: {error}"
            os.write(writing, said.replace("\n", " ").encode() + b"\n")
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        lines = told.read().splitlines()
    assert os.waitpid(child, 0)[1] == 0, "the child hung"
    return lines


def test_whatever_is_used_in_a_child_says_so_at_once(daemon: Silent) -> None:
    """Questions, streams begun before, composers, status; to close, or to let go of, them is harmless."""
    with Client(daemon.endpoint, connect_s=WAIT_S) as client:
        stream, composer = client.ask("q"), client.compose("text")
        again = client.compose("other")
        until(lambda: sum(isinstance(message, Compose) for message in daemon.got) == 2)
        lines = in_child(
            lambda: client.ask("q").result(),
            client.status,
            lambda: client.compose("x"),
            stream.result,
            lambda: list(stream),
            stream.cancel,
            composer.wait,
            lambda: composer.update("text!"),
            composer.accept,
            lambda: next(composer.events()),
        )
        assert len(lines) == 10
        assert all(line.startswith(f"{Unavailable.__name__}: {HERE}") for line in lines), lines
        assert in_child(composer.close, client.close, client.close) == ["None"] * 3
        before = len(daemon.got)
        again.update("others")  # the parent's goes on
        until(lambda: any(isinstance(message, Edit) for message in daemon.got[before:]))
        assert composer.wait(0) is None


def test_a_child_that_holds_the_locks_of_nobody_hangs_at_none(daemon: Silent) -> None:
    """Another thread may hold a client's locks while it is forked: the child waits for none of them."""
    with Client(daemon.endpoint, connect_s=WAIT_S) as client:
        composer = client.compose("text")
        connection = client._connection
        with connection._closing, composer._lock, composer._mail._changed, connection._bus._posting:
            lines = in_child(client.status, composer.wait, composer.close, composer._leave, client.close)
    assert [line.startswith(Unavailable.__name__) for line in lines[:2]] == [True, True]
    assert lines[2:] == ["None"] * 3


def test_a_child_makes_a_client_of_its_own(daemon: Silent) -> None:
    """And its end disturbs the parent's as little as it does."""
    with Client(daemon.endpoint, connect_s=WAIT_S):

        def ask() -> None:
            with Client(daemon.endpoint, connect_s=WAIT_S) as own:
                own.status(0)

        (line,) = in_child(ask)
        assert line.startswith("DeadlineExceeded: no status within 0 s")
        until(lambda: any(isinstance(message, StatusRequest) for message in daemon.got))


def test_the_asynchronous_client_says_so_too(daemon: Silent) -> None:
    """On a loop of the child's."""

    async def opened() -> AsyncClient:
        return await AsyncClient(daemon.endpoint, connect_s=WAIT_S).__aenter__()

    with asyncio.Runner() as runner:
        client = runner.run(opened())

        async def ask() -> object:
            return await client.ask("q").result()

        async def compose() -> object:
            return client.compose("q")

        lines = in_child(
            lambda: asyncio.run(ask()), lambda: asyncio.run(compose()), lambda: asyncio.run(client.close())
        )
        assert [line.startswith(f"Unavailable: {HERE}") for line in lines[:2]] == [True, True]
        assert lines[2] == "None"
        runner.run(client.close())
