"""Ollama's paths, by the `ollama` package and by the bytes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from serving import MODELS, USER, Served

from waiting import WAIT_S

ollama = pytest.importorskip("ollama", reason="ollama is not installed: hocket[dev]")

DRAWN = {"num_predict": 8, "seed": 7}
ENDED = ("total_duration", "eval_count", "eval_duration", "prompt_eval_duration")


@pytest.fixture(scope="module")
def client(front: Served) -> Iterator[Any]:
    with ollama.Client(host=front.url, timeout=WAIT_S) as there:
        yield there


@pytest.fixture(scope="module")
def plain(front: Served) -> str:
    return front.pair.client().ask("kala mira?", max_tokens=8, seed=7).result().text


def post(front: Served, path: str, **body: object) -> httpx2.Response:
    return httpx2.post(front.url + path, json={"model": "hocket", "options": DRAWN, **body}, timeout=WAIT_S)


def test_the_package_talks(front: Served, client: Any, plain: str) -> None:
    """Whole, streamed and asynchronous, with the text that the plain client reads with the same seed."""
    whole = client.chat(model="hocket:latest", messages=USER, options=DRAWN)
    assert (whole.message.content, whole.done, whole.done_reason, whole.eval_count) == (plain, True, "length", 8)
    fragments = list(client.chat(model="hocket", messages=USER, options=DRAWN, stream=True))
    assert "".join(piece.message.content for piece in fragments) == plain
    assert [piece.done for piece in fragments] == [False] * 8 + [True]

    async def asynchronous() -> str:
        async with ollama.AsyncClient(host=front.url, timeout=WAIT_S) as there:
            fragments = await there.chat(model="hocket", messages=USER, options=DRAWN, stream=True)
            return "".join([piece.message.content async for piece in fragments])

    assert asyncio.run(asynchronous()) == plain


def test_the_package_generates(front: Served, client: Any, plain: str) -> None:
    """A prompt is a question; with `raw` it is a text to go on with."""
    assert client.generate(model="hocket", prompt="kala mira?", options=DRAWN).response == plain
    fragments = list(client.generate(model="hocket", prompt="kala mira?", options=DRAWN, stream=True))
    assert "".join(piece.response for piece in fragments) == plain
    going_on = front.pair.client().ask("kala mira", task="complete", max_tokens=8, seed=7).result().text
    assert client.generate(model="hocket", prompt="kala mira", raw=True, options=DRAWN).response == going_on
    system = front.pair.client().ask("kala?", system="duno", max_tokens=8, seed=7).result().text
    assert client.generate(model="hocket", prompt="kala?", system="duno", options=DRAWN).response == system


def test_the_package_gets_log_probabilities(front: Served, client: Any) -> None:
    """Whole and streamed, those of the plain client; and how much was read."""
    tokens = list(front.pair.client().ask("kala mira?", max_tokens=8, seed=7, logprobs=2))
    want = [[each.logprob for each in token.logprobs] for token in tokens if token.logprobs]
    asked = {"model": "hocket", "messages": USER, "options": DRAWN, "logprobs": True, "top_logprobs": 2}
    whole = client.chat(**asked)
    streamed = [each for piece in client.chat(**asked, stream=True) for each in piece.logprobs or ()]
    for content in (whole.logprobs, streamed):
        told = [[each.logprob, *(top.logprob for top in each.top_logprobs)] for each in content]
        for got, wanted in zip(told, want, strict=True):
            assert got == pytest.approx(wanted, abs=1e-4)  # a row may have caught up in another pass
    assert whole.prompt_eval_count > 8


def test_the_package_lists(front: Served, client: Any) -> None:
    assert tuple(each.model for each in client.list().models) == tuple(f"{model}:latest" for model in MODELS)
    assert client.show("hocket-alone").capabilities == ["completion"]
    assert len(client.ps().models) == len(MODELS)
    assert httpx2.get(f"{front.url}/api/version", timeout=WAIT_S).json()["version"]


def test_lines_are_json_and_the_last_one_tells_the_times(front: Served) -> None:
    """With a stream where nothing is said of it, as Ollama has it."""
    got = post(front, "/api/chat", messages=USER)
    assert got.headers["content-type"] == "application/x-ndjson"
    *lines, last = [json.loads(line) for line in got.text.splitlines()]
    for each in lines:
        assert set(each) == {"model", "created_at", "message", "done"}
    assert all(type(last[name]) is int for name in ENDED)
    assert last["hocket"]["sources"]


def test_a_model_is_loaded_without_a_question(front: Served) -> None:
    for path in ("/api/chat", "/api/generate"):
        assert post(front, path, messages=[], prompt="").json()["done_reason"] == "load"
    assert post(front, "/api/embed", model="hocket-embeddings", input=[]).json()["embeddings"] == []


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/chat", {"model": "llama3", "messages": USER}, 404),
        ("/api/chat", {"messages": USER, "tools": [{}]}, 400),
        ("/api/chat", {"messages": USER, "format": "yaml"}, 400),
        ("/api/chat", {"messages": USER, "format": {"type": "object", "not": {}}}, 400),
        ("/api/chat", {"messages": [*USER, {"role": "tool", "content": "x"}]}, 400),
        ("/api/chat", {"messages": [{"role": "user", "content": "x", "images": ["x"]}]}, 400),
        ("/api/chat", {"messages": [{"role": "wizard", "content": "x"}]}, 400),
        ("/api/generate", {"prompt": "x", "suffix": "y"}, 400),
        ("/api/generate", {"prompt": 1}, 400),
        ("/api/generate", {"prompt": "x", "options": {"temperature": 99}}, 400),
        ("/api/show", {"model": "x"}, 404),
        ("/api/pull", {"model": "x"}, 404),
        ("/api/embed", {"model": "hocket", "input": "x"}, 404),
    ],
)
def test_refusals_have_ollamas_shape(front: Served, path: str, body: dict[str, object], status: int) -> None:
    refused = post(front, path, **body)
    assert (refused.status_code, list(refused.json())) == (status, ["error"])
    assert len(refused.json()["error"].splitlines()) == 1


def test_the_package_raises_what_is_refused(client: Any) -> None:
    with pytest.raises(ollama.ResponseError) as caught:
        client.chat(model="llama3", messages=USER)
    assert caught.value.status_code == 404
    assert "hocket-alone" in caught.value.error


def test_what_ollama_knows_besides_is_left_out(front: Served) -> None:
    more = {"keep_alive": "5m", "options": {**DRAWN, "num_ctx": 4096, "top_k": 40, "num_predict": -1}, "think": False}
    assert post(front, "/api/chat", messages=USER, stream=False, **more).status_code == 200
