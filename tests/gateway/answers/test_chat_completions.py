"""`/v1/chat/completions` and `/v1/models`, by the `openai` package and by the bytes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from serving import MODELS, SHORT, USER, Served

from hocket_client import Turn
from hocket_gateway.answers.marks import unmarked
from waiting import WAIT_S

openai = pytest.importorskip("openai", reason="openai is not installed: hocket[dev]")
types = pytest.importorskip("openai.types.chat", reason="openai is not installed: hocket[dev]")

TOOL = {"type": "function", "function": {"name": "look_up"}}
CHUNK = {"id": str, "object": str, "created": int, "model": str, "choices": list}


@pytest.fixture(scope="module")
def client(front: Served) -> Iterator[Any]:
    with openai.OpenAI(base_url=f"{front.url}/v1", api_key="none", timeout=WAIT_S, max_retries=0) as there:
        yield there


def events(front: Served, **body: object) -> list[str]:
    """The data lines of a stream."""
    asked = {"model": "hocket", "messages": USER, "stream": True, "marks": False, **SHORT, **body}
    with httpx2.stream("POST", f"{front.url}/v1/chat/completions", json=asked, timeout=WAIT_S) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        return [line.removeprefix("data: ") for line in response.iter_lines() if line and not line.startswith(":")]


def post(front: Served, **body: object) -> httpx2.Response:
    asked = {"model": "hocket", "messages": USER, "marks": False, **SHORT, **body}
    return httpx2.post(f"{front.url}/v1/chat/completions", json=asked, timeout=WAIT_S)


def test_the_package_gets_the_pairs_answer(front: Served, client: Any) -> None:
    """Streamed, whole and asynchronous alike: but for marks the text that the plain client reads with its seed."""
    plain = front.pair.client().ask("kala mira?", max_tokens=8, seed=7).result()
    whole = client.chat.completions.create(model="hocket", messages=USER, **SHORT)
    choice = whole.choices[0]
    assert (unmarked(choice.message.content), choice.message.role) == (plain.text, "assistant")
    assert choice.finish_reason == {"eos": "stop", "length": "length"}[plain.finish]
    usage = whole.usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (plain.prompt_tokens, len(plain.token_ids))
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens > usage.completion_tokens
    stream = list(client.chat.completions.create(model="hocket", messages=USER, stream=True, **SHORT))
    assert unmarked("".join(chunk.choices[0].delta.content or "" for chunk in stream)) == plain.text
    assert len({chunk.id for chunk in stream}) == len({chunk.created for chunk in stream}) == 1

    async def asynchronous() -> str:
        async with openai.AsyncOpenAI(base_url=f"{front.url}/v1", api_key="none", timeout=WAIT_S) as there:
            chunks = await there.chat.completions.create(model="hocket", messages=USER, stream=True, **SHORT)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in chunks])

    assert unmarked(asyncio.run(asynchronous())) == plain.text


@pytest.mark.parametrize("usage", [True, False])
def test_each_chunk_has_its_shape(front: Served, usage: bool) -> None:
    """Role first, then text, then a finish behind which nothing but the usage comes, then [DONE]."""
    *lines, last = events(front, stream_options={"include_usage": usage})
    assert last == "[DONE]"
    chunks = [json.loads(line) for line in lines]
    for chunk in chunks:
        types.ChatCompletionChunk.model_validate(chunk, strict=True)
        assert {name: type(chunk[name]) for name in CHUNK} == CHUNK
        assert chunk["object"] == "chat.completion.chunk"
        assert ("usage" in chunk) == usage
    if usage:
        counted = chunks.pop()
        assert (counted["choices"], counted["usage"]["completion_tokens"]) == ([], SHORT["max_tokens"])
        assert all(chunk["usage"] is None for chunk in chunks)
    choices = [chunk["choices"][0] for chunk in chunks]
    assert choices[0]["delta"] == {"role": "assistant", "content": ""}
    assert [choice["finish_reason"] for choice in choices[:-1]] == [None] * (len(choices) - 1)
    assert (choices[-1]["finish_reason"], choices[-1]["delta"]) == ("length", {})
    tokens = [choice["delta"] for choice in choices[1:] if "content" in choice["delta"]]
    assert {delta["hocket"]["source"] for delta in tokens} <= {"both", "device", "cloud", "resampled", "solo"}
    (shares,) = [choice["delta"]["hocket"] for choice in choices if "shares" in choice["delta"].get("hocket", {})]
    assert (shares["step"], len(shares["shares"])) == (0, SHORT["max_tokens"])
    assert {len(each) for each in shares["shares"]} == {len(chunks[-1]["hocket"]["sources"])}


def test_sources_are_in_the_stream_and_beside_the_whole_answer(front: Served) -> None:
    """A source in a chunk of its own, with the passage's words where they are here; annotations cover the text."""
    chunks = [json.loads(line) for line in events(front)[:-1]]
    sources = [chunk["event"]["data"] for chunk in chunks if "event" in chunk]
    assert sources
    sides = {source["metadata"][0]["side"] for source in sources}
    assert sides == {"device", "cloud"}
    for source in sources:
        side, url = source["metadata"][0]["side"], source["source"]["url"]
        assert source["metadata"][0]["source"] == url
        assert url.startswith(f"{front.url}/documents/device-" if side == "device" else "hocket://cloud/cloud-")
        assert (source["document"][0] != source["source"]["name"]) == (side == "device")
    whole = post(front).json()
    message = whole["choices"][0]["message"]
    assert [each["url"] for each in whole["search_results"]] == [each["source"]["url"] for each in sources]
    cited = [each["url_citation"] for each in message["annotations"]]
    streamed = [
        each for chunk in chunks for choice in chunk["choices"] for each in choice["delta"].get("annotations", [])
    ]
    assert cited == [each["url_citation"] for each in streamed]
    spans = sorted((each["start_index"], each["end_index"]) for each in cited)
    assert spans
    assert "".join(message["content"][a:b] for a, b in spans).split() == message["content"].split()


def test_the_package_gets_log_probabilities(front: Served, client: Any) -> None:
    """Streamed and whole alike: those that the plain client reads, with the bytes of the text."""
    options = SHORT | {"logprobs": True, "top_logprobs": 3}
    plain = list(front.pair.client().ask("kala mira?", max_tokens=8, seed=7, logprobs=3))
    want = [[each.logprob for each in token.logprobs] for token in plain if token.logprobs]
    assert want
    whole = client.chat.completions.create(model="hocket", messages=USER, **options).choices[0].logprobs.content
    chunks = client.chat.completions.create(model="hocket", messages=USER, stream=True, **options)
    fragments = [
        each for chunk in chunks for choice in chunk.choices if choice.logprobs for each in choice.logprobs.content
    ]
    for content in (whole, fragments):
        told = [[each.logprob, *(top.logprob for top in each.top_logprobs)] for each in content]
        for got, wanted in zip(told, want, strict=True):
            assert got == pytest.approx(wanted, abs=1e-4)  # a row may have caught up in another pass
        assert [bytes(each.bytes) for each in content] == [token.logprobs[0].piece for token in plain if token.logprobs]
    unasked = client.chat.completions.create(model="hocket", messages=USER, **SHORT)
    assert unasked.choices[0].logprobs is None


def test_where_a_token_comes_from_is_told_with_it(front: Served) -> None:
    """Where that is asked for: the device's passages by name, and their shares as they are at the end."""
    told = [json.loads(line)["choices"] for line in events(front, shares=True)[:-1]]
    tokens = [part["delta"]["hocket"] for (part,) in told if "content" in part["delta"] and "hocket" in part["delta"]]
    places = [each["document"] for each in tokens[0]["places"]]
    whole = post(front).json()["hocket"]
    for number, source in enumerate(whole["sources"]):
        shares = [token["shares"][places.index(source["document"])] for token in tokens if source["document"] in places]
        assert shares == pytest.approx([row[number] for row in whole["shares"]] if shares else [], abs=2e-3)
    assert places
    silent = [json.loads(line)["choices"] for line in events(front)[:-1]]
    assert not any("shares" in part["delta"].get("hocket", {}) and "content" in part["delta"] for (part,) in silent)


def test_a_conversation_is_asked_as_one(front: Served) -> None:
    """System and developer lines, earlier turns and parts of text are those of the plain client's messages."""
    said = [
        {"role": "developer", "content": "duno"},
        {"role": "user", "content": [{"type": "text", "text": "kala?"}]},
        {"role": "assistant", "content": "mira."},
        {"role": "user", "content": [{"type": "text", "text": "soretu"}, {"type": "text", "text": "limba?"}]},
    ]
    before = [Turn(query="kala?", answer="mira.")]
    client = front.pair.client()
    asked = "soretu\n\nlimba?"
    expected = client.ask(asked, turns=before, system="duno", alone=True, max_tokens=8, seed=7).result()
    got = post(front, model="hocket-alone", messages=said).json()
    assert got["choices"][0]["message"]["content"] == expected.text


def test_what_is_said_of_an_answer_counts(front: Served) -> None:
    """Seed, stop, temperature, top_p and both names of the longest answer."""
    client = front.pair.client()
    warm = {"temperature": 0.9, "top_p": 0.8, "seed": 11}
    expected = client.ask("kala mira?", alone=True, max_tokens=12, **warm).result()  # type: ignore[arg-type]
    got = post(front, model="hocket-alone", max_completion_tokens=12, **warm).json()
    assert got["choices"][0]["message"]["content"] == expected.text
    stop = expected.text[5:8]
    cut = post(front, model="hocket-alone", max_completion_tokens=12, stop=[stop], **warm).json()["choices"][0]
    assert (cut["finish_reason"], cut["message"]["content"]) == ("stop", expected.text.partition(stop)[0])
    negative = post(front, seed=-1, model="hocket-alone").json()
    assert negative["hocket"]["seed"] == 2**64 - 1


def test_whole_answers_have_their_shape(front: Served) -> None:
    """By the package's own types, which it does not hold answers to by itself."""
    types.ChatCompletion.model_validate(post(front).json(), strict=True)


def test_many_ask_at_once_and_each_gets_its_own(front: Served) -> None:
    """The answer that its seed gives, whoever else is answered meanwhile."""
    warm = {"temperature": 0.9, "max_tokens": 16}
    client = front.pair.client()
    expected = [client.ask("kala mira?", seed=seed, temperature=0.9, max_tokens=16).result().text for seed in range(6)]

    def asked(seed: int) -> str:
        lines = events(front, **warm, seed=seed)
        chunks = [json.loads(line) for line in lines[:-1]]
        return "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)

    with ThreadPoolExecutor(len(expected)) as threads:
        assert list(threads.map(asked, range(len(expected)))) == expected


def test_models_are_ways_of_answering(front: Served, client: Any) -> None:
    """Each answers; the list tells what is behind them."""
    listed = client.models.list().data
    assert tuple(each.id for each in listed) == MODELS
    for name in ("hocket-auto", "hocket-embeddings"):
        assert client.models.retrieve(name).id == name
    first = httpx2.get(f"{front.url}/v1/models", timeout=WAIT_S).json()["data"][0]
    assert first["hocket"]["cloud"]
    assert first["info"]["meta"]["capabilities"]["builtin_tools"] is False  # else Open WebUI sends tools
    for model in MODELS:
        assert post(front, model=model).json()["model"] == model


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/chat/completions", "POST"),
        ("POST", "/v1/models", "GET"),
        ("POST", "/documents/x", "DELETE, GET, PUT"),
    ],
)
def test_a_method_that_a_path_has_not_names_those_that_it_has(
    front: Served, method: str, path: str, allowed: str
) -> None:
    refused = httpx2.request(method, front.url + path, timeout=WAIT_S)
    assert (refused.status_code, refused.headers["allow"]) == (405, allowed)
    assert refused.json()["error"]["code"] == "method_not_allowed"
    assert f"use {allowed.replace(', ', ' or ')}" in refused.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"n": 2}, "n"),
        ({"tools": [{"type": "function"}]}, "tools[0]"),
        ({"tools": [{"type": "web_search"}]}, "tools[0]"),
        ({"tools": [TOOL], "tool_choice": "sometimes"}, "tool_choice"),
        ({"tools": [TOOL], "response_format": {"type": "json_object"}}, "response_format"),
        ({"functions": [{}]}, "functions"),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"response_format": {"type": "yaml"}}, "response_format"),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": 1}}}, "response_format"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}, "response_format"),
        ({"response_format": {"type": "json_schema"}}, "response_format"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "x"}}}, "tool_choice"),
        ({"presence_penalty": 0.5}, "presence_penalty"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0]"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content"),
        ({"messages": []}, "messages"),
        ({"temperature": "warm"}, "temperature"),
        ({"messages": [{"content": "x"}]}, "messages[0]"),
        ({"messages": "x"}, "messages"),
    ],
)
def test_what_cannot_be_given_is_refused_by_name(front: Served, body: dict[str, object], param: str) -> None:
    """In OpenAI's shape, streamed or not."""
    for stream in (False, True):
        refused = post(front, stream=stream, **body)
        assert refused.status_code == 400, refused.text
        error = refused.json()["error"]
        assert set(error) == {"message", "type", "param", "code"}
        assert (error["type"], error["param"]) == ("invalid_request_error", param)
        assert len(error["message"].splitlines()) == 1


@pytest.mark.parametrize(
    "body",
    [
        {"temperature": 11},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object", "not": {}}}}},
        {"top_p": 0},
        {"max_tokens": 0},
        {"max_tokens": 100_000},
        {"stop": ["x"] * 17},
        {"messages": [{"role": "user", "content": "  "}]},
        {"messages": [{"role": "user", "content": "x" * 9_000}]},
        {"messages": [*USER, {"role": "assistant", "content": "x"}]},
    ],
)
def test_what_the_pair_refuses_is_a_400_with_its_remedy(front: Served, body: dict[str, object]) -> None:
    """Whether the client library refuses it or the daemon, and also where a stream was asked for."""
    for stream in (False, True):
        refused = post(front, stream=stream, **body)
        assert (refused.status_code, refused.json()["error"]["type"]) == (400, "invalid_request_error")
        assert ": " in refused.json()["error"]["message"]


def test_what_is_not_known_is_left_out(front: Served) -> None:
    """Fields of other servers, and empty ones of this."""
    more = {"user": "x", "store": True, "metadata": {"a": [1]}, "logprobs": False, "tools": [], "stop": None, "n": 1}
    assert post(front, **more, stream_options=None, logit_bias={}, frequency_penalty=0).status_code == 200


def test_a_model_that_there_is_not_is_a_404(front: Served, client: Any) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model="gpt-4", messages=USER)
    assert caught.value.code == "model_not_found"
    assert "hocket-alone" in str(caught.value)
