"""Fields that requests of OpenAI's API share, converted into the client's options; unsupported ones are refused."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from hocket_bus.messages import Unknown
from hocket_client import Options

from ..answers.drawing import drawn
from ..http.refusals import unsupported


class Part(Struct, frozen=True):
    """A part of a message's content."""

    type: str = "text"
    text: str | None = None


Content = str | list[Part] | None


class ChatMessage(Struct, frozen=True):
    """A message of a conversation."""

    role: str
    content: Content = None
    tool_calls: list[Any] | None = None
    tool_call_id: str | None = None


class StreamOptions(Struct, frozen=True):
    """Options of a stream: what it has beside the text."""

    include_usage: bool | None = None


class Wanted(Struct, frozen=True, kw_only=True):
    """The fields that all requests for text share."""

    model: str
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    n: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    unknown: Unknown | None = None  # hocket's own: what comes of a question that nothing found is about
    documents: int | None = None  # hocket's own: passages that each side reads
    within: list[str] | None = None  # hocket's own: folders of this device from which alone its passages are
    shares: bool | None = None  # hocket's own: where each token comes from, with the token

    @property
    def has_usage(self) -> bool:
        """Tell whether the stream ends with the numbers of tokens."""
        return self.stream_options is not None and bool(self.stream_options.include_usage)


def options_of(wanted: Wanted, *, logprobs: int | None = None) -> Options:
    """Return the client's options for a request. Raises Refusal for options that are not supported."""
    if wanted.n not in (None, 1):
        text = f"each request gives one answer, and n is {wanted.n}"
        raise unsupported("n", text, "leave n out; for another answer ask again, with another seed")
    for name in ("frequency_penalty", "presence_penalty", "logit_bias"):
        if getattr(wanted, name):
            raise unsupported(name, "tokens are drawn from both sides' mixture unchanged", f"leave out {name}")
    options = drawn(
        max_tokens=wanted.max_tokens,
        temperature=wanted.temperature,
        top_p=wanted.top_p,
        seed=wanted.seed,
        stop=wanted.stop,
        logprobs=logprobs,
    )
    if wanted.unknown is not None:
        options["unknown"] = wanted.unknown
    if wanted.documents is not None:
        options["documents"] = wanted.documents
    if wanted.within:
        options["within"] = tuple(wanted.within)
    if wanted.shares:
        options["shares"] = True
    return options


def text_of(content: Content, param: str) -> str:
    """Return the text of a message. Raises Refusal for a part that is no text."""
    if content is None or isinstance(content, str):
        return content or ""
    for part in content:
        if part.type not in ("text", "input_text", "output_text") or part.text is None:
            raise unsupported(param, f"a part of type '{part.type[:50]}' is not text", "send text only")
    return "\n\n".join(part.text or "" for part in content)
