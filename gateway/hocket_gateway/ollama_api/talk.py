"""The paths `/api/chat` and `/api/generate`: answers as in OpenAI's API, as lines of JSON."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from hocket_bus import as_json
from hocket_bus.messages import Done, Thought, Token
from hocket_client import Options

from ..access.people import Person
from ..answers.drawing import drawn
from ..answers.formats import ANY_OBJECT
from ..answers.logprobs import entries, wanted_logprobs
from ..answers.questions import FINISHES, Answer
from ..answers.tool_turns import Message, call_of, spoken
from ..answers.tools import Call, CallStream, Tools, tools_of
from ..answers.ways import way_named
from ..gateway import Gateway
from ..http.body import read
from ..http.refusals import Refusal, unsupported
from ..http.sending import EventStream, json_response, whole
from .listing import line, timestamp

Shape = Callable[[str, str], dict[str, Any]]  # of a text, and of what is thought before it


class Drawn(Struct, frozen=True):
    """Options for drawing tokens; other options of Ollama's are ignored."""

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
    tool_calls: list[dict[str, Any]] | None = None
    tool_name: str | None = None


class TalkRequest(Struct, frozen=True, kw_only=True):
    """The fields that the bodies of both paths share."""

    model: str
    stream: bool | None = None
    options: Drawn | None = None
    format: Any = None
    think: bool | str | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None

    @property
    def offered(self) -> Tools | None:
        """The tools that the answer may call; None for none. Raises Refusal."""
        return None


class MessagesRequest(TalkRequest, frozen=True, kw_only=True):
    """The body of a request to `/api/chat`."""

    messages: list[TalkMessage] = []
    tools: list[Any] | None = None

    @property
    def offered(self) -> Tools | None:
        """The tools that the answer may call; None for none. Raises Refusal."""
        return tools_of(self.tools, None)


class PromptRequest(TalkRequest, frozen=True, kw_only=True):
    """The body of a request to `/api/generate`. With `raw` the prompt is a text to continue, and no question."""

    prompt: str = ""
    system: str | None = None
    suffix: str | None = None
    raw: bool | None = None
    images: list[Any] | None = None


async def chat(request: Request) -> Response:
    """Answer a conversation. Raises Refusal."""
    gateway: Gateway = request.app.state.gateway
    wanted = await read(request, MessagesRequest, gateway.settings.max_body_bytes)
    if any(message.images for message in wanted.messages):
        raise unsupported("messages", "hocket reads text only", "leave out images")
    options, tools = _options(wanted), wanted.offered
    options["messages"] = spoken(list(map(_plain, wanted.messages)))
    if tools is not None:
        if wanted.format:
            raise unsupported("format", "a request with tools cannot have a format, too", "leave out one of them")
        tools.offer(options)
    return await _answered(request, wanted, options, bool(wanted.messages), partial(_message, tools))


async def generate(request: Request) -> Response:
    """Answer a prompt. Raises Refusal."""
    gateway: Gateway = request.app.state.gateway
    wanted = await read(request, PromptRequest, gateway.settings.max_body_bytes)
    if wanted.images or wanted.suffix:
        raise unsupported(
            "prompt", "hocket reads text only, and continues it at its end", "leave out images and suffix"
        )
    options = _options(wanted)
    if wanted.raw:
        options["task"] = "complete"
    said = [{"role": "system", "content": wanted.system}] if wanted.system else []
    options["messages"] = [*said, {"role": "user", "content": wanted.prompt}]
    return await _answered(request, wanted, options, bool(wanted.prompt), _response)


def _plain(given: TalkMessage) -> Message:
    """Return a message without its API's form, which names a result's tool in place of its call. Raises Refusal."""
    calls = dict[str, Call]()
    for each in given.tool_calls or ():
        function = each.get("function")
        named = function if isinstance(function, dict) else {}
        call = call_of(named.get("name"), as_json.text(named.get("arguments") or {}), "tool_calls")
        calls[call.name] = call
    return Message(given.role, given.content, calls, given.tool_name or "")


def _message(tools: Tools | None, text: str, thought: str) -> dict[str, Any]:
    call = tools.call(text) if tools is not None else None
    if call is None:
        return {"message": {"role": "assistant", "content": text, **_thinking(thought)}}
    calls = [{"function": {"name": call.name, "arguments": call.values()}}]
    return {"message": {"role": "assistant", "content": "", "tool_calls": calls, **_thinking(thought)}}


def _response(text: str, thought: str) -> dict[str, Any]:
    return {"response": text, **_thinking(thought)}


def _thinking(thought: str) -> dict[str, str]:
    return {"thinking": thought} if thought else {}


def _options(wanted: TalkRequest) -> Options:
    """Return the client's options. Raises Refusal for options that are not supported."""
    told = wanted.options or Drawn()
    is_bounded = told.num_predict is not None and told.num_predict > 0  # others mean: as long as it gets
    options = drawn(
        max_tokens=told.num_predict if is_bounded else None,
        temperature=told.temperature,
        top_p=told.top_p,
        seed=told.seed,
        stop=told.stop,
        logprobs=wanted_logprobs(wanted.logprobs, wanted.top_logprobs),
    )
    if (schema := _schema(wanted.format)) is not None:
        options["schema"] = schema
        options["unknown"] = "mark"  # this API has no other place for a sentence than the text, which is JSON
    return options


def _schema(wanted: object) -> dict[str, object] | None:
    """Return the JSON Schema that is asked for; None: any text. Raises Refusal."""
    if wanted in (None, ""):
        return None
    if wanted == "json":
        return ANY_OBJECT
    if not isinstance(wanted, dict):
        raise Refusal(400, "the format is neither 'json' nor a JSON Schema", "send one", "bad_request", param="format")
    return wanted


async def _answered(request: Request, wanted: TalkRequest, options: Options, asks: bool, shape: Shape) -> Response:
    gateway: Gateway = request.app.state.gateway
    person: Person = request.state.person
    way = way_named(wanted.model, alone_only=person.alone_only)
    if not asks:  # clients load a model so
        return json_response({**_head(wanted.model), **shape("", ""), "done": True, "done_reason": "load"})
    answer = await gateway.questions.ask(person, way, options)
    if wanted.stream in (None, True):
        lines = _lines(answer, wanted, shape)
        return EventStream(lines, answer.close, media_type="application/x-ndjson", comment=b"")
    return await whole(request, _object(answer, wanted, shape), answer.close)


async def _object(answer: Answer, wanted: TalkRequest, shape: Shape) -> Response:
    done = await answer.done()
    logprobs, thought = _logprobs(wanted, answer.tokens), "" if wanted.think is False else done.reasoning
    return json_response({**_head(wanted.model), **shape(done.text, thought), **logprobs, **_end(done, answer)})


async def _lines(answer: Answer, wanted: TalkRequest, shape: Shape) -> AsyncGenerator[bytes]:
    model, calling = wanted.model, CallStream(wanted.offered) if wanted.offered is not None else None
    try:
        async for event in answer.events():
            if isinstance(event, Token):
                if calling is not None and event.text and not calling.add(event.text):
                    continue  # a call is sent as a whole
                logprobs = _logprobs(wanted, [event])
                yield line({**_head(model), **shape(event.text, ""), **logprobs, "done": False})
            elif isinstance(event, Thought) and wanted.think is not False:
                yield line({**_head(model), **shape("", event.text), "done": False})
            elif isinstance(event, Done):
                call = event.text if calling is not None and calling.is_call else ""
                yield line({**_head(model), **shape(call, ""), **_end(event, answer)})
    except Refusal as refusal:
        yield line(refusal.ollama())


def _logprobs(wanted: TalkRequest, tokens: Sequence[Token]) -> dict[str, Any]:
    return {"logprobs": entries(tokens)} if wanted.logprobs else {}


def _head(model: str) -> dict[str, Any]:
    return {"model": model, "created_at": timestamp(time.time())}


def _end(done: Done, answer: Answer) -> dict[str, Any]:
    """Return the fields of the last object, with times in nanoseconds."""
    tokens = len(done.token_ids)
    first, rest = int(done.ttft_s * 1e9), int(done.ms_per_token * 1e6 * max(0, tokens - 1))
    return {
        "done": True,
        "done_reason": FINISHES[done.finish],
        "total_duration": first + rest,
        "load_duration": 0,
        "prompt_eval_count": done.prompt_tokens,
        "prompt_eval_duration": first,
        "eval_count": tokens,
        "eval_duration": rest,
        "hocket": answer.facts(done),
    }
