"""`/api/chat` and `/api/generate`: the same answers, as lines of JSON."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from hocket_bus.messages import Done, Token
from hocket_client import Options

from ..body import read
from ..gateway import Gateway
from ..people import Person
from ..questions import FINISHES, Answer
from ..refusals import Refusal, no_probabilities, unsupported
from ..sending import EventStream, json_response, whole
from ..ways import way_named
from .listing import line, timestamp

Shape = Callable[[str], dict[str, Any]]


class Drawn(Struct, frozen=True):
    """How tokens are drawn; what else Ollama knows is left out."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    num_predict: int | None = None
    stop: str | list[str] | None = None


class TalkMessage(Struct, frozen=True):
    """A message of a conversation."""

    role: str
    content: str = ""
    images: list[Any] | None = None
    tool_calls: list[Any] | None = None


class TalkRequest(Struct, frozen=True, kw_only=True):
    """What both paths have."""

    model: str
    stream: bool | None = None
    options: Drawn | None = None
    format: Any = None
    think: bool | str | None = None
    logprobs: bool | None = None


class MessagesRequest(TalkRequest, frozen=True, kw_only=True):
    """Of `/api/chat`."""

    messages: list[TalkMessage] = []
    tools: list[Any] | None = None


class PromptRequest(TalkRequest, frozen=True, kw_only=True):
    """Of `/api/generate`. `raw` is a text to go on with, and no question."""

    prompt: str = ""
    system: str | None = None
    suffix: str | None = None
    raw: bool | None = None
    images: list[Any] | None = None


async def chat(request: Request) -> Response:
    """Raises Refusal."""
    gateway: Gateway = request.app.state.gateway
    wanted = await read(request, MessagesRequest, gateway.settings.max_body_bytes)
    if wanted.tools:
        raise unsupported("tools", "hocket calls no tools", "leave out tools")
    for message in wanted.messages:
        if message.images or message.tool_calls:
            raise unsupported("messages", "hocket reads text alone", "leave out images and tool_calls")
    options = _options(wanted)
    options["messages"] = [{"role": each.role, "content": each.content} for each in wanted.messages]
    return await _answered(request, wanted, options, bool(wanted.messages), _message)


async def generate(request: Request) -> Response:
    """Raises Refusal."""
    gateway: Gateway = request.app.state.gateway
    wanted = await read(request, PromptRequest, gateway.settings.max_body_bytes)
    if wanted.images or wanted.suffix:
        raise unsupported("prompt", "hocket reads text alone, and goes on at its end", "leave out images and suffix")
    options = _options(wanted)
    if wanted.raw:
        options["task"] = "complete"
    said = [{"role": "system", "content": wanted.system}] if wanted.system else []
    options["messages"] = [*said, {"role": "user", "content": wanted.prompt}]
    return await _answered(request, wanted, options, bool(wanted.prompt), _response)


def _message(text: str) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": text}}


def _response(text: str) -> dict[str, Any]:
    return {"response": text}


def _options(wanted: TalkRequest) -> Options:
    """The client's options. Raises Refusal for what cannot be given."""
    if wanted.format:
        raise unsupported("format", "an answer is text, in no other format", "leave out format")
    if wanted.think:
        raise unsupported("think", "hocket does not think aloud", "leave out think")
    if wanted.logprobs:
        raise no_probabilities("logprobs")
    drawn, options = wanted.options or Drawn(), Options()
    if drawn.temperature is not None:
        options["temperature"] = drawn.temperature
    if drawn.top_p is not None:
        options["top_p"] = drawn.top_p
    if drawn.seed is not None:
        options["seed"] = drawn.seed % (1 << 64)
    if drawn.num_predict is not None and drawn.num_predict > 0:  # others mean: as long as it gets
        options["max_tokens"] = drawn.num_predict
    if drawn.stop:
        options["stop"] = drawn.stop if isinstance(drawn.stop, str) else tuple(drawn.stop)
    return options


async def _answered(request: Request, wanted: TalkRequest, options: Options, asks: bool, shape: Shape) -> Response:
    gateway: Gateway = request.app.state.gateway
    person: Person = request.state.person
    way = way_named(wanted.model, alone_only=person.alone_only)
    if not asks:  # clients load a model so
        return json_response({**_head(wanted.model), **shape(""), "done": True, "done_reason": "load"})
    answer = await gateway.questions.ask(person, way, options)
    if wanted.stream in (None, True):
        lines = _lines(answer, wanted.model, shape)
        return EventStream(lines, answer.close, media_type="application/x-ndjson", comment=b"")
    return await whole(request, _object(answer, wanted.model, shape), answer.close)


async def _object(answer: Answer, model: str, shape: Shape) -> Response:
    done = await answer.done()
    return json_response({**_head(model), **shape(done.text), **_end(done, answer)})


async def _lines(answer: Answer, model: str, shape: Shape) -> AsyncGenerator[bytes]:
    try:
        async for event in answer.events():
            if isinstance(event, Token):
                yield line({**_head(model), **shape(event.text), "done": False})
            elif isinstance(event, Done):
                yield line({**_head(model), **shape(""), **_end(event, answer)})
    except Refusal as refusal:
        yield line(refusal.ollama())


def _head(model: str) -> dict[str, Any]:
    return {"model": model, "created_at": timestamp(time.time())}


def _end(done: Done, answer: Answer) -> dict[str, Any]:
    """The end, with times in nanoseconds. How many tokens the prompt has the pair does not tell."""
    tokens = len(done.token_ids)
    first, rest = int(done.ttft_s * 1e9), int(done.ms_per_token * 1e6 * max(0, tokens - 1))
    return {
        "done": True,
        "done_reason": FINISHES[done.finish],
        "total_duration": first + rest,
        "load_duration": 0,
        "prompt_eval_duration": first,
        "eval_count": tokens,
        "eval_duration": rest,
        "hocket": answer.facts(done),
    }
