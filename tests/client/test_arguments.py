"""Laws of what a caller says: what is wrong is refused at the call, in one line that names it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

import pytest
from silent import Silent

from hocket_bus.errors import BadRequest
from hocket_bus.messages import Ask, Compose, NamedOptions, StatusRequest
from hocket_client import AsyncClient, Client
from waiting import WAIT_S, until

ASKED: list[tuple[dict[str, Any], str]] = [
    ({"timeout": 5}, "ask has no argument 'timeout': did you mean deadline_s?"),
    ({"max_token": 5}, "ask has no argument 'max_token': did you mean max_tokens?"),
    ({"zzz": 5}, "ask has no argument 'zzz': it takes question, mode, …"),
    ({"max_tokens": "5"}, "max_tokens is '5': give a whole number"),
    ({"max_tokens": 10**30}, "max_tokens is 1…: use 1 to …"),
    ({"temperature": None}, "temperature is None: give a number"),
    ({"temperature": math.nan}, "temperature is nan: give a number"),
    ({"temperature": math.inf}, "temperature is inf: use 0 …"),
    ({"top_p": True}, "top_p is True: give a number"),
    ({"stop": 5}, "stop is 5: give text or a list of texts"),
    ({"stop": ["x", 5]}, "stop is ['x', 5]: give text or a list of texts"),
    ({"stop": "x" * 5000}, "this cannot be sent: …stop…"),
    ({"documents": 2.5}, "documents is 2.5: give a whole number"),
    ({"deadline_s": "x"}, "deadline_s is 'x': give a number"),
    ({"deadline_s": -1}, "deadline_s is -1: give seconds, 0 or more"),
    ({"deadline_s": math.inf}, "deadline_s is inf: use a finite number above 0"),
    ({"deadline_s": 10**400}, "deadline_s is 1…: give a number"),
    ({"seed": True}, "seed is True: give a whole number or None"),
    ({"task": "guess"}, "task is 'guess': give one of answer, complete"),
    ({"mode": b"dispatch"}, "mode is b'dispatch': give text"),
    ({"mode": "x" * 500}, "this cannot be sent: …mode…"),
    ({"alone": 1}, "alone is 1: give True or False"),
    ({"own": [1]}, "own is [1]: give a dict whose values are True or False or …"),
    ({"own": {"times": None}}, "own is {'times': None}: give a dict …"),
    ({"own": {"times": 2}}, "these options do not apply to mode aggregation"),
    ({"own": {"times": 2}, "mode": "dispatch"}, "these options do not apply to mode dispatch"),
]
COMPOSED: list[tuple[dict[str, Any], str]] = [
    ({"text": None}, "text is None: give text"),
    ({"text": "\ud800"}, "text is not Unicode: …"),
    ({"cursor": "3"}, "cursor is '3': give a whole number or None"),
    ({"tokens": True}, "tokens is True: give a whole number"),
    ({"memory": "no"}, "memory is 'no': give True or False"),
    ({"token": 5}, "compose has no argument 'token': did you mean tokens?"),
]


def refuses(call: Callable[..., object], line: str) -> None:
    """In a line that begins so, or has both parts."""
    with pytest.raises(BadRequest) as caught:
        call()
    said, (begins, _, ends) = str(caught.value), line.rstrip("…").partition("…")
    assert said.startswith(begins), said
    assert ends in said, said
    assert "\n" not in said


def test_what_is_no_argument_or_of_another_type_is_named_at_the_call(daemon: Silent) -> None:
    """By every method of both clients, and nothing reaches the daemon."""

    async def with_async() -> None:
        async with AsyncClient(daemon.endpoint, connect_s=WAIT_S) as client:
            for options, line in ASKED:
                refuses(lambda options=options: client.ask("q", **options), line)
            for options, line in COMPOSED:
                refuses(lambda options=options: client.compose(**options), line)

    with Client(daemon.endpoint, connect_s=WAIT_S) as client:
        for options, line in ASKED:
            refuses(lambda options=options: client.ask("q", **options), line)
        for question in (b"q", 5):
            refuses(lambda question=question: client.ask(question), "question is …: give text or None")  # type: ignore[arg-type]
        refuses(client.ask, "there is no question: give one, or messages")  # type: ignore[call-arg]
        for options, line in COMPOSED:
            refuses(lambda options=options: client.compose(**options), line)
        refuses(lambda: client.status(timeout=3), "status has no argument 'timeout': did you mean wait_s?")  # type: ignore[call-arg]
        refuses(lambda: client.status(math.nan), "wait_s is nan: give a number")
        refuses(lambda: client.status(-1), "wait_s is -1: give seconds, 0 or more")
        refuses(lambda: client.explain("12ab"), "number is '12ab': give bytes")  # type: ignore[arg-type]
        asyncio.run(with_async())
    assert not any(isinstance(message, Ask | Compose | StatusRequest) for message in daemon.got)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_client_names_what_it_does_not_take(kind: type[Any]) -> None:
    """Before it connects."""
    refuses(lambda: kind(timeout=3), f"{kind.__name__} has no argument 'timeout': did you mean connect_s?")
    refuses(lambda: kind(5), "endpoint is 5: give text or None")
    refuses(lambda: kind(connect_s="5"), "connect_s is '5': give a number")
    refuses(lambda: kind(keys="/keys"), "keys is '/keys': give a pathlib.Path or None")


def test_what_is_right_passes(daemon: Silent) -> None:
    """Whole numbers for numbers, lists for tuples, None where it stands for a default."""
    with Client(daemon.endpoint, connect_s=WAIT_S) as client:
        client.ask("q", temperature=1, deadline_s=30, stop=["x"], seed=None, task="complete")  # type: ignore[arg-type]
        client.ask(question="q", stop=("x", "y"), mode="dispatch", pace=3)
        client.ask("q", mode="echo", own={"times": 2, "loudly": True})
        until(lambda: any(isinstance(message, Ask) and message.mode == "echo" for message in daemon.got))
        echoed = next(message for message in daemon.got if isinstance(message, Ask) and message.mode == "echo")
        assert echoed.options == NamedOptions(values={"times": 2, "loudly": True})
        with client.compose("text", None, tokens=3, memory=False) as composer:
            composer.update(text="text!", cursor=2)
            assert composer.wait(0) is None
