"""The path `/v1/chat/completions`: a conversation in, an answer out, as one object or as a stream of chunks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from hocket_bus.messages import Done, Notice, Thought, Token, Waiting
from hocket_client import Options

from ..access.people import Person
from ..answers.citations import Citation
from ..answers.formats import begins_json, is_refusal, schema_of
from ..answers.logprobs import entries, wanted_logprobs
from ..answers.marks import Marks
from ..answers.questions import FINISHES, Answer, of_token
from ..answers.shapes import DONE, sse, usage_of
from ..answers.tool_turns import Message, call_of, spoken
from ..answers.tools import Call, CallStream, Tools, tools_of
from ..answers.ways import way_named
from ..gateway import Gateway
from ..http.body import read
from ..http.refusals import Refusal, unsupported
from ..http.sending import EventStream, json_response, whole
from .wanted import ChatMessage, Wanted, options_of, text_of

MAX_NUMBERS = 4_096  # in a line of a stream: some clients read no more than 64 KiB


class ChatRequest(Wanted, frozen=True, kw_only=True):
    """The body of a chat request; unknown fields are ignored."""

    messages: list[ChatMessage]
    max_completion_tokens: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    tools: list[Any] | None = None
    functions: list[Any] | None = None
    tool_choice: Any = None
    response_format: dict[str, Any] | None = None
    marks: bool = True  # hocket's own: `[1]` behind a sentence that comes mostly from the first source

    @property
    def is_marked_live(self) -> bool:
        """Tell whether marks are made while the answer comes."""
        return self.has_marks and bool(self.stream)

    @property
    def offered(self) -> Tools | None:
        """The tools that the answer may call; None for none. Raises Refusal."""
        return tools_of(self.tools, self.tool_choice)

    @property
    def is_json(self) -> bool:
        """Tell whether the answer is to be JSON."""
        return self.response_format is not None and self.response_format.get("type", "text") != "text"

    @property
    def has_marks(self) -> bool:
        """Tell whether there are marks in the text: JSON and calls have none."""
        return self.marks and not self.is_json and self.offered is None and self.is_cited

    @property
    def is_cited(self) -> bool:
        """Tell whether documents are cited; an answer to a tool's result is made of that result instead."""
        return not self.messages or self.messages[-1].role != "tool"


async def chat_completions(request: Request) -> Response:
    """Answer a conversation. Raises Refusal."""
    gateway: Gateway = request.app.state.gateway
    person: Person = request.state.person
    wanted = await read(request, ChatRequest, gateway.settings.max_body_bytes)
    way = way_named(wanted.model, alone_only=person.alone_only)
    answer = await gateway.questions.ask(person, way, chat_options(wanted))
    base = str(request.base_url).rstrip("/")
    if wanted.stream:
        return EventStream(_chunks(gateway, answer, wanted, base), answer.close)
    return await whole(request, _completion(gateway, answer, wanted, base), answer.close)


def chat_options(wanted: ChatRequest) -> Options:
    """Return the client's options. Raises Refusal."""
    if wanted.functions:
        raise unsupported("functions", "functions are called by tools", "send tools")
    if not wanted.messages:
        raise Refusal(400, "there are no messages", "send at least one of the user's", "bad_request", param="messages")
    options = options_of(wanted, logprobs=wanted_logprobs(wanted.logprobs, wanted.top_logprobs))
    if wanted.max_completion_tokens is not None:
        options["max_tokens"] = wanted.max_completion_tokens
    if wanted.is_marked_live:
        options["shares"] = True
    options["messages"] = spoken([_message(each, f"messages[{at}]") for at, each in enumerate(wanted.messages)])
    _constrain(options, wanted)
    return options


def _message(given: ChatMessage, param: str) -> Message:
    """Return a message without its API's form. Raises Refusal."""
    calls = dict[str, Call]()
    for call in given.tool_calls or ():
        function = call.get("function") if isinstance(call, dict) else None
        named = function if isinstance(function, dict) else {}
        calls[str(call.get("id"))] = call_of(named.get("name"), str(named.get("arguments") or "{}"), param)
    return Message(given.role, text_of(given.content, f"{param}.content"), calls, given.tool_call_id or "")


def _constrain(options: Options, wanted: ChatRequest) -> None:
    """Hold the answer to a schema, or to a call of a tool. Raises Refusal."""
    schema = schema_of(wanted.response_format, "response_format")
    if schema is not None:
        options["schema"] = schema
    if (tools := wanted.offered) is None:
        return
    if schema is not None:
        raise unsupported("response_format", "a request with tools cannot have a format, too", "leave out one of them")
    tools.offer(options)


async def _completion(gateway: Gateway, answer: Answer, wanted: ChatRequest, base: str) -> Response:
    done = await answer.done()
    marks = Marks()
    text = marks.whole(done, [token.text for token in answer.tokens]) if wanted.has_marks else done.text
    refuses = wanted.is_json and is_refusal(done)
    call = wanted.offered.call(text) if wanted.offered is not None else None
    citations = await gateway.citations(done, answer, base, marks) if wanted.is_cited and call is None else []
    message = {
        "role": "assistant",
        "content": None if refuses or call is not None else text,
        "refusal": text if refuses else None,
        "annotations": [each for citation in citations for each in citation.annotations()],
    }
    if call is not None:
        message["tool_calls"] = [_call(answer.number, call)]
    if done.reasoning:
        message["reasoning_content"] = done.reasoning
    logprobs = {"content": entries(answer.tokens), "refusal": None} if wanted.logprobs else None
    choice = {"index": 0, "message": message, "logprobs": logprobs, "finish_reason": _finish(done, call)}
    return json_response(
        {
            "id": f"chatcmpl-{answer.number}",
            "object": "chat.completion",
            "created": answer.created_s,
            "model": answer.way.id,
            "choices": [choice],
            "usage": usage_of(done),
            "citations": [citation.url for citation in citations],
            "search_results": [citation.result() for citation in citations],
            "hocket": answer.facts(done, marks) | {"shares": rounded(done.token_sources)},
        }
    )


def _call(number: str, call: Call) -> dict[str, Any]:
    """Return a call in this API's form; `number` is the answer's."""
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": f"call_{number}", "type": "function", "function": function}


def _finish(done: Done, call: Call | None) -> str:
    return "tool_calls" if call is not None and done.finish == "eos" else FINISHES[done.finish]


def rounded(shares: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return each token's shares by index of source, rounded to four digits."""
    return [[round(share, 4) for share in each] for each in shares]


def _portions(shares: list[list[float]]) -> Iterator[tuple[int, list[list[float]]]]:
    """Split the shares into lines short enough for every client; yield each with the step of its first token."""
    tokens = max(1, MAX_NUMBERS // max(1, len(shares[0]))) if shares else 1
    for step in range(0, len(shares), tokens):
        yield step, shares[step : step + tokens]


class _Chunks:
    """The chunks of one answer, which share its number and time."""

    def __init__(self, answer: Answer, wanted: ChatRequest) -> None:
        self._head = {
            "id": f"chatcmpl-{answer.number}",
            "object": "chat.completion.chunk",
            "created": answer.created_s,
            "model": answer.way.id,
        }
        self._tail = {"usage": None} if wanted.has_usage else {}
        self._has_logprobs = bool(wanted.logprobs)
        self._has_shares = bool(wanted.shares)
        self._has_marks, self._is_json = wanted.has_marks, wanted.is_json
        self._begun = self._refuses = False
        self._number = answer.number
        tools = wanted.offered
        self._calling = CallStream(tools) if tools is not None else None

    def delta(self, delta: dict[str, Any], finish: str | None = None, **more: object) -> bytes:
        """Return a chunk with a choice."""
        return self._chunk({"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}, **more)

    @property
    def call(self) -> Call | None:
        """The call that the answer is, as far as that is known."""
        return self._calling.call if self._calling is not None else None

    def of(self, event: Token | Thought | Waiting | Notice, marks: Marks) -> Iterator[bytes]:
        """Yield the chunks with an event before the end."""
        if isinstance(event, Notice):
            yield self.delta({"hocket": {"notice": event.text}})
        elif isinstance(event, Thought):
            yield self.delta({"reasoning_content": event.text})
        elif isinstance(event, Waiting):
            yield self.delta({"hocket": {"waiting": {"party": event.party, "read": event.read}}})
        else:
            yield from self._of_token(event, marks.token(event) if self._has_marks else event.text)

    def _of_token(self, token: Token, text: str) -> Iterator[bytes]:
        """Yield chunks with a token: its text with the marks in it, or its part of a call."""
        shown = text if self._calling is None else self._calling.add(text)
        if shown or not text:
            yield self._token(token, shown)
        elif self._calling is not None:
            if (name := self._calling.begun()) is not None:
                yield self.delta({"tool_calls": [_call(self._number, Call(name, "")) | {"index": 0}]})
            if part := self._calling.arguments():
                yield self.delta({"tool_calls": [{"index": 0, "function": {"arguments": part}}]})

    def _token(self, token: Token, text: str) -> bytes:
        if text and not self._begun:
            self._begun, self._refuses = True, self._is_json and not begins_json(text)
        key = "refusal" if self._refuses else "content"
        delta = {key: text, "hocket": of_token(token) if self._has_shares else {"source": token.source}}
        logprobs = {"content": entries([token]), "refusal": None} if self._has_logprobs else None
        return self._chunk({"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": None})

    def usage(self, done: Done) -> bytes:
        """Return the last chunk, which has the numbers of tokens and no choice."""
        return sse({**self._head, "choices": [], "usage": usage_of(done)})

    def _chunk(self, choice: dict[str, Any], **more: object) -> bytes:
        return sse({**self._head, "choices": [choice], **self._tail, **more})


async def _chunks(gateway: Gateway, answer: Answer, wanted: ChatRequest, base: str) -> AsyncGenerator[bytes]:
    chunks, marks = _Chunks(answer, wanted), Marks()
    try:
        yield chunks.delta({"role": "assistant", "content": ""})
        async for event in answer.events():
            if isinstance(event, Done):
                if wanted.has_marks and (last := marks.end(event)):
                    yield chunks.delta({"content": last})
                is_cited = wanted.is_cited and chunks.call is None
                citations = await gateway.citations(event, answer, base, marks) if is_cited else []
                for piece in _end(chunks, event, citations, answer.facts(event, marks)):
                    yield piece
                if wanted.has_usage:
                    yield chunks.usage(event)
            else:
                for piece in chunks.of(event, marks):
                    yield piece
        yield DONE
    except Refusal as refusal:
        yield sse(refusal.openai())


def _end(chunks: _Chunks, done: Done, citations: list[Citation], facts: dict[str, Any]) -> list[bytes]:
    """Return the sources and the finish. A source's chunk has an empty delta: clients expect a choice in each."""
    fragments = [chunks.delta({}, event=citation.source()) for citation in citations]
    annotations = [each for citation in citations for each in citation.annotations()]
    if annotations:
        fragments.append(chunks.delta({"annotations": annotations}))
    for step, shares in _portions(rounded(done.token_sources)):
        fragments.append(chunks.delta({"hocket": {"step": step, "shares": shares}}))
    more = {
        "citations": [citation.url for citation in citations],
        "search_results": [citation.result() for citation in citations],
    }
    return [*fragments, chunks.delta({}, _finish(done, chunks.call), **more, hocket=facts)]
