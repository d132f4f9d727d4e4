"""What a server's model thinks, on a running pair: apart from the answer, in no turn, and at nobody who did not ask."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import Pair, pair
from reading_server import told_by_class
from scripted_server import Scripted, serving
from test_model_on_a_server import remote
from thinking_server import ANSWER, FORMS, THOUGHT, thinks

from hocket_bus.errors import BadRequest, HocketError
from hocket_bus.messages import Done, Thought, Token
from hocket_client import AsyncClient, Client
from hocket_daemon.engine.settings import ServerSettings
from hocket_daemon.privacy.egress import EgressSettings, ServerEgressSettings
from hocket_lab.bench.privacy.canaries import grams
from hocket_lab.link.tap import Tap, messages
from waiting import WAIT_S

ASKED: dict[str, Any] = {"mode": "dispatch", "temperature": 0.0, "max_tokens": 40, "deadline_s": WAIT_S}
QUESTION = "Which bay?"


@pytest.fixture
def made(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        yield made


def at(server: Scripted, thinking: int = 50) -> ServerSettings:
    return ServerSettings(url=server.url, model="m", api="chat", thinking=thinking)


def beside(made: Pair, server: Scripted) -> Tap:
    """A device with a server, and a cloud behind a tap."""
    tap = made.stack.enter_context(Tap(made.endpoint("tap"), made.endpoint("cloud")))
    made.start_cloud()
    policy = EgressSettings(ledger=str(made.folder / "ledger"))
    made.start_device(link=made.endpoint("tap"), server=at(server), egress=policy)
    return tap


def of_the_device(made: Pair, server: Scripted) -> Client:
    """A device without weights, alone."""
    policy = EgressSettings(passages=True, ledger=str(made.folder / "ledger"))
    made.start_device(model=remote(made, "device"), server=at(server), egress=policy)
    return made.client()


def of_the_cloud(made: Pair, server: Scripted) -> Client:
    """A cloud without weights."""
    policy = ServerEgressSettings(passages=True, ledger=str(made.folder / "ledger"))
    made.start_cloud(model=remote(made, "cloud"), server=at(server), egress=policy)
    made.start_device()
    return made.client()


def answered(client: Client, **options: Any) -> tuple[Done, list[Thought], list[Token]]:
    """The end, the thoughts, all of which come before the first token, and the tokens."""
    events = list(client.ask(QUESTION, **ASKED, **options).events())
    thoughts = [event for event in events if isinstance(event, Thought)]
    tokens = [event for event in events if isinstance(event, Token)]
    (done,) = (event for event in events if isinstance(event, Done))
    seqs = [event.seq for event in events]
    assert seqs == sorted(seqs)
    assert all(thought.seq < tokens[0].seq and thought.t_s <= tokens[0].t_s for thought in thoughts)
    return done, thoughts, tokens


def ledger(made: Pair) -> dict[str, int]:
    """Bytes by class that went to the server."""
    for daemon in filter(None, (made.device, made.cloud)):
        daemon.ledger.write()
    return told_by_class(made.folder / "ledger")


@pytest.mark.parametrize("where", [of_the_device, of_the_cloud], ids=["the device's", "the cloud's"])
def test_an_answer_equals_that_of_a_server_that_does_not_think(made: Pair, where: Any) -> None:
    """In every form: text, tokens, counts, sources and the ledger; the thoughts are whole and in order."""
    made.script = "cloud" if where is of_the_cloud else ""
    scripts = [thinks(), *map(thinks, FORMS)]
    with serving(*scripts) as server:
        client = where(made, server)
        plain, found, sums = None, [], [{}]
        for form in ("", *FORMS):
            done, thoughts, tokens = answered(client, **({} if made.script else {"alone": True}), seed=3)
            sums.append(ledger(made))
            found.append({kind: size - sums[-2].get(kind, 0) for kind, size in sums[-1].items()})
            assert done.reasoning == "".join(thought.text for thought in thoughts) == (THOUGHT if form else "")
            plain = plain or done
            assert (done.text, done.token_ids, done.finish) == (ANSWER, plain.token_ids, "eos")
            assert (done.outcome, done.sources, done.prompt_tokens) == (
                plain.outcome, plain.sources, plain.prompt_tokens,
            )  # fmt: skip
            assert [token.id for token in tokens] == done.token_ids
            assert "".join(token.text for token in tokens) == ANSWER
        assert found == [found[0]] * len(found)
        assert json.loads(server.requests[-1].partition(b"\r\n\r\n")[2])["max_tokens"] == ASKED["max_tokens"] + 50


def test_what_the_devices_server_thinks_is_in_no_turn_and_at_no_cloud(made: Pair) -> None:
    """Neither the cloud nor the server is told any of it, with the next question either."""
    with serving(thinks("reasoning_content")) as server:
        tap = beside(made, server)
        client = made.client()
        chat = client.chat(**ASKED, to="server")
        assert chat.ask(QUESTION).result().reasoning == THOUGHT
        assert chat.ask("And where is it?").result().text == ANSWER
        assert [turn.answer for turn in chat.turns] == [ANSWER] * 2
        said = json.loads(server.requests[-1].partition(b"\r\n\r\n")[2])["messages"]
        assert [each["content"] for each in said if each["role"] == "assistant"] == [ANSWER]
        client.ask("And why?", **ASKED, to="cloud", turns=chat.turns).result()
        frames = [frame for recorded in tap.recorded() for each in messages(recorded) for frame in each]
        assert any(b"And why?" in frame for frame in frames), "the tap sees what leaves"
        left = "\n".join(frame.decode("utf-8", "replace") for frame in frames)
        left += "\n".join(request.decode("utf-8", "replace") for request in server.requests)
        assert grams(left).isdisjoint(grams(THOUGHT))
        assert "peregrine" not in left


@pytest.mark.parametrize("form", FORMS)
def test_a_thought_beyond_its_budget_ends_in_one_line(made: Pair, form: str) -> None:
    """That says what to set; nothing of it is taken for an answer."""
    with serving(thinks(form, ends=False)) as server:
        client = of_the_device(made, server)
        stream = client.ask(QUESTION, **ASKED, alone=True)
        events = []
        with pytest.raises(HocketError) as caught:
            events.extend(stream.events())
        assert isinstance(caught.value, BadRequest)
        assert "[server] thinking" in caught.value.remedy
        assert "\n" not in str(caught.value)
        assert not [event for event in events if isinstance(event, Token)]


def test_who_iterates_for_tokens_gets_no_thoughts(made: Pair) -> None:
    """By either client; `events` has them."""
    with serving(thinks("reasoning_content")) as server:
        client = of_the_device(made, server)
        read = list(client.ask(QUESTION, **ASKED, alone=True))
        assert "".join(token.text for token in read) == ANSWER

        async def both() -> tuple[list[object], list[object]]:
            async with AsyncClient(made.endpoint("device"), connect_s=WAIT_S) as there:
                tokens = [token async for token in there.ask(QUESTION, **ASKED, alone=True)]
                return tokens, [event async for event in there.ask(QUESTION, **ASKED, alone=True).events()]

        tokens, events = asyncio.run(both())
        assert {type(token) for token in tokens} == {Token}
        assert "".join(event.text for event in events if isinstance(event, Thought)) == THOUGHT
