"""What a server's model thinks, over HTTP: under each API's own name, and in no text, no turn and no count."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from response_schema import check_event
from scripted_server import Scripted, serving
from serving import Served, served
from thinking_server import ANSWER, THOUGHT, thinks

from hocket_daemon.engine.settings import ServerSettings
from waiting import WAIT_S

ASKED = {"model": "hocket-dispatch", "seed": 7}
MESSAGES = [{"role": "user", "content": "Which bay?"}]
CHAT = {"messages": MESSAGES, "max_tokens": 20}


@pytest.fixture(scope="module")
def server() -> Iterator[Scripted]:
    with serving(thinks("reasoning_content")) as there:
        yield there


@pytest.fixture(scope="module")
def front(tiny_models: dict[str, Path], server: Scripted) -> Iterator[Served]:
    """A device whose server thinks, and writes."""
    settings = ServerSettings(url=server.url, model="m", api="chat", thinking=50)
    with served(tiny_models, server=settings) as there:
        there.pair.script = "cloud"
        yield there


def post(front: Served, path: str, **body: object) -> httpx2.Response:
    return httpx2.post(f"{front.url}{path}", json={**ASKED, **body}, timeout=WAIT_S).raise_for_status()


def events_of(response: httpx2.Response) -> list[dict[str, Any]]:
    lines = response.text.splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]


def test_a_chat_has_reasoning_content(front: Served) -> None:
    """Whole and streamed, the deltas in order and before the first of the text; the count is the answer's."""
    whole = post(front, "/v1/chat/completions", **CHAT).json()
    message = whole["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == (ANSWER, THOUGHT)
    events = events_of(post(front, "/v1/chat/completions", stream=True, **CHAT))
    deltas = [event["choices"][0]["delta"] for event in events]
    kinds = [name for delta in deltas for name in ("reasoning_content", "content") if delta.get(name)]
    assert kinds == sorted(kinds, reverse=True)
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == THOUGHT
    assert "".join(delta.get("content") or "" for delta in deltas) == ANSWER
    tokens = sum("source" in delta.get("hocket", {}) for delta in deltas)
    assert whole["usage"]["completion_tokens"] == tokens


@pytest.mark.parametrize("think", [None, True, False])
def test_ollamas_api_has_thinking(front: Served, think: bool | None) -> None:
    """In the message, or beside the response; not where it is not wanted."""
    wanted = "" if think is False else THOUGHT
    for path, body in (("/api/chat", {"messages": MESSAGES}), ("/api/generate", {"prompt": "Which bay?"})):
        said = {**body, "think": think, "options": {"num_predict": 20}}
        whole = post(front, path, stream=False, **said).json()
        lines = [json.loads(line) for line in post(front, path, **said).text.splitlines()]
        for found in ([whole], lines):
            parts = [each.get("message", each) for each in found]
            assert "".join(part.get("thinking", "") for part in parts) == wanted
            assert "".join(part.get("response", part.get("content", "")) for part in parts) == ANSWER


def test_a_response_has_an_item_of_its_own_for_reasoning(front: Served, server: Scripted) -> None:
    """Before the message, whole and as events that fit their kinds; it is no turn, sent back or gone on from."""
    body = {"input": "Which bay?", "max_output_tokens": 20}
    events = events_of(post(front, "/v1/responses", stream=True, **body))
    for event in events:
        check_event(event)
    whole = events[-1]["response"]
    reasoning, message = whole["output"]
    assert (reasoning["type"], reasoning["content"]) == ("reasoning", [{"type": "reasoning_text", "text": THOUGHT}])
    assert (message["type"], message["content"][0]["text"]) == ("message", ANSWER)
    deltas = [event for event in events if event["type"] == "response.reasoning_text.delta"]
    assert "".join(event["delta"] for event in deltas) == THOUGHT
    for index, item in enumerate(whole["output"]):
        own = [event for event in events if event.get("output_index") == index]
        assert {event.get("item_id", item["id"]) for event in own} == {item["id"]}
        assert (own[0]["type"], own[-1]["type"]) == ("response.output_item.added", "response.output_item.done")
        assert own[-1]["item"] == item
    assert httpx2.get(f"{front.url}/v1/responses/{whole['id']}", timeout=WAIT_S).json() == whole
    plain = post(front, "/v1/responses", **body).json()
    assert [item["type"] for item in plain["output"]] == ["reasoning", "message"]
    post(front, "/v1/responses", **body, previous_response_id=whole["id"])
    assert [each["content"] for each in server.body["messages"]] == ["Which bay?", ANSWER, "Which bay?"]
    post(front, "/v1/responses", max_output_tokens=20, input=[*MESSAGES, *whole["output"], *MESSAGES])
    assert THOUGHT not in json.dumps(server.body, ensure_ascii=False)


def test_a_text_that_is_gone_on_with_has_no_thoughts(front: Served) -> None:
    body = {"prompt": "The", "max_tokens": 20}
    assert post(front, "/v1/completions", **body).json()["choices"][0]["text"] == ANSWER
    streamed = events_of(post(front, "/v1/completions", stream=True, **body))
    assert "".join(event["choices"][0]["text"] for event in streamed) == ANSWER
