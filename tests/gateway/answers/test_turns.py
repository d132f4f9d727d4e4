"""While several people ask, each has one question on its way to a first token; and none is refused too fast."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import httpx2
import pytest
from serving import USER, served

from hocket_gateway.access import people
from hocket_gateway.access.people import Person
from hocket_gateway.answers import questions, turns
from hocket_gateway.answers.questions import Limits
from hocket_gateway.answers.turns import Turns
from hocket_gateway.http.refusals import Refusal
from waiting import WAIT_S

CHAT = "/v1/chat/completions"


async def _waits(what: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """A task that has come as far as it does by itself."""
    task = asyncio.create_task(what)
    for _ in range(5):
        await asyncio.sleep(0)
    return task


def test_who_asks_alone_may_have_any_number_on_the_way() -> None:
    async def law() -> None:
        of_all = Turns()
        for _ in range(50):
            await of_all.enter("anna")

    asyncio.run(law())


def test_beside_others_the_next_one_of_a_person_comes_when_the_last_has_begun() -> None:
    """In their order, whoever is given up on the way; another person's wait for none of them."""

    async def law() -> None:
        of_all, came = Turns(), list[int]()

        async def ask(number: int) -> Any:
            begun = await of_all.enter("anna")
            came.append(number)
            return begun

        await of_all.enter("ben")
        tasks = [await _waits(ask(number)) for number in range(4)]
        assert came == [0]
        (await asyncio.wait_for(of_all.enter("ben"), WAIT_S))()
        tasks[2].cancel()
        for number in (0, 1):
            begun = await tasks[number]
            begun()
            begun()  # the end of an answer ends its turn, too
            await _waits(asyncio.sleep(0))
        assert came == [0, 1, 3]

    asyncio.run(law())


def test_a_turn_that_does_not_come_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "WAIT_S", 0.01)

    async def law() -> None:
        of_all = Turns()
        await of_all.enter("ben")
        await of_all.enter("anna")
        with pytest.raises(Refusal, match="still being sent"):
            await of_all.enter("anna")

    asyncio.run(law())


def test_a_person_is_one_of_several_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind that the other one asks alone again."""
    monkeypatch.setattr(turns, "TOGETHER_S", 0.0)

    async def law() -> None:
        of_all = Turns()
        await of_all.enter("ben")
        for _ in range(3):
            await of_all.enter("anna")

    asyncio.run(law())


@pytest.mark.parametrize("ends", ["first token", "left", "refused"])
def test_a_turn_ends_with_its_question(tiny_models: dict[str, Path], ends: str) -> None:
    """At its first token, however long it goes on; and where it ends without one."""
    with served(tiny_models, hold_s=0.05, max_tokens=200) as front:
        heads = {name: {"authorization": f"Bearer {people.invite(front.people, name)}"} for name in ("anna", "ben")}
        body = {"model": "hocket-alone", "messages": USER, "stream": True}

        def first_token(name: str) -> None:
            with httpx2.stream("POST", front.url + CHAT, json=body, headers=heads[name], timeout=WAIT_S) as got:
                assert any('"source"' in line for line in got.iter_lines())

        first_token("ben")
        if ends == "first token":
            with httpx2.stream("POST", front.url + CHAT, json=body, headers=heads["anna"], timeout=WAIT_S) as going:
                lines = going.iter_lines()
                next(line for line in lines if '"source"' in line)
                first_token("anna")
        elif ends == "left":
            with httpx2.stream("POST", front.url + CHAT, json=body, headers=heads["anna"], timeout=WAIT_S):
                pass
        else:
            wrong = body | {"temperature": 11}
            got = httpx2.post(front.url + CHAT, json=wrong, headers=heads["anna"], timeout=WAIT_S)
            assert got.status_code == 400
        first_token("anna")


def test_who_is_refused_again_and_again_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first refusal comes at once, the next one later; whoever waits gets what has become free meanwhile."""

    async def law() -> None:
        limits = Limits(at_once=1, a_minute=1_000)
        anna, ben = Person(name="anna"), Person(name="ben")
        await limits.enter(anna)
        with pytest.raises(Refusal):
            await limits.enter(anna)
        monkeypatch.setattr(questions, "PAUSE_S", 0.0)
        again = await _waits(limits.enter(anna))
        await limits.enter(ben)
        assert not again.done()
        limits.leave(anna)
        await again
        with pytest.raises(Refusal):
            await limits.enter(anna)

    monkeypatch.setattr(questions, "PAUSE_S", 0.2)
    asyncio.run(law())
