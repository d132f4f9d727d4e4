"""The path `/v1/completions`: a text in, its continuation out."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from hocket_bus.messages import Done, Notice, Token
from hocket_client import Options

from ..access.people import Person
from ..answers.logprobs import columns
from ..answers.questions import FINISHES, Answer, of_token
from ..answers.shapes import DONE, sse, usage_of
from ..answers.ways import way_named
from ..gateway import Gateway
from ..http.body import read
from ..http.refusals import Refusal, unsupported
from ..http.sending import EventStream, json_response, whole
from .wanted import Wanted, options_of


class CompletionRequest(Wanted, frozen=True, kw_only=True):
    """The body of a completion request; unknown fields are ignored.

    A prompt of numbers is one of token ids, which differ between models, and is refused.
    """

    prompt: str | list[Any]
    suffix: str | None = None
    echo: bool | None = None
    best_of: int | None = None
    logprobs: int | None = None


async def completions(request: Request) -> Response:
    """Continue a text. Raises Refusal."""
    gateway: Gateway = request.app.state.gateway
    person: Person = request.state.person
    wanted = await read(request, CompletionRequest, gateway.settings.max_body_bytes)
    way = way_named(wanted.model, alone_only=person.alone_only)
    answer = await gateway.questions.ask(person, way, _options(wanted), _prompt(wanted))
    if wanted.stream:
        return EventStream(_chunks(answer, wanted), answer.close)
    return await whole(request, _completion(answer, wanted), answer.close)


def _options(wanted: CompletionRequest) -> Options:
    """Return the client's options. Raises Refusal."""
    if wanted.suffix:
        raise unsupported("suffix", "a text is continued only at its end", "leave out suffix")
    if wanted.echo:
        raise unsupported("echo", "the prompt is not echoed", "leave out echo")
    if wanted.best_of not in (None, 1):
        raise unsupported("best_of", "only one text is written", "leave out best_of")
    options = options_of(wanted, logprobs=wanted.logprobs)
    options["task"] = "complete"
    return options


def _prompt(wanted: CompletionRequest) -> str:
    """Return the text to continue. Raises Refusal."""
    prompt = [wanted.prompt] if isinstance(wanted.prompt, str) else wanted.prompt
    if len(prompt) != 1 or not isinstance(prompt[0], str):
        is_text = all(isinstance(each, str) for each in prompt)
        text = "only one text is continued at a time" if is_text else "token numbers are not accepted as a prompt"
        raise unsupported("prompt", text, "send one text")
    return prompt[0]


def _object(
    answer: Answer, text: str, finish: str | None, *, logprobs: dict[str, Any] | None = None, **more: object
) -> dict[str, Any]:
    return {
        "id": f"cmpl-{answer.number}",
        "object": "text_completion",
        "created": answer.created_s,
        "model": answer.way.id,
        "choices": [{"index": 0, "text": text, "logprobs": logprobs, "finish_reason": finish}],
        **more,
    }


async def _completion(answer: Answer, wanted: CompletionRequest) -> Response:
    done = await answer.done()
    logprobs = None if wanted.logprobs is None else columns(answer.tokens)
    more = {"usage": usage_of(done), "hocket": answer.facts(done)}
    return json_response(_object(answer, done.text, FINISHES[done.finish], logprobs=logprobs, **more))


async def _chunks(answer: Answer, wanted: CompletionRequest) -> AsyncGenerator[bytes]:
    tail = {"usage": None} if wanted.has_usage else {}
    begin = 0  # of the next token's text
    try:
        async for event in answer.events():
            if isinstance(event, Done):
                yield sse(_object(answer, "", FINISHES[event.finish], hocket=answer.facts(event), **tail))
                if wanted.has_usage:
                    yield sse(_object(answer, "", None, usage=usage_of(event)) | {"choices": []})
            elif isinstance(event, Notice):
                yield sse(_object(answer, "", None, hocket={"notice": event.text}, **tail))
            elif isinstance(event, Token):  # a text is gone on with without thoughts
                logprobs = None if wanted.logprobs is None else columns([event], begin)
                begin += sum(map(len, logprobs["tokens"])) if logprobs else 0
                yield sse(_object(answer, event.text, None, logprobs=logprobs, hocket=of_token(event), **tail))
        yield DONE
    except Refusal as refusal:
        yield sse(refusal.openai())
