"""OpenAI's two ways to ask for a text, as pure functions: what a request says, what a chunk or a refusal means.

/v1/completions takes a prompt as it is, and so can go on from a text; /v1/chat/completions takes a user's turn. Nothing
that a server says stands in an error: it may repeat the key or the prompt.
"""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct

from hocket_bus.errors import (
    BadConfiguration,
    BadMessage,
    BadRequest,
    Busy,
    HocketError,
    ProtocolError,
    Unavailable,
    Untrusted,
)
from hocket_bus.messages import Finish
from hocket_bus.web.dialect import PLAIN, Dialect

from ..settings import Api, ServerSettings
from ..text.detokenizer import MAX_CHARACTERS, Emitter
from ..text.thinking import Thinking, Trimmed
from .generation import Usage
from .generator import TextRequest

DONE = "[DONE]"
_ERROR = "error"  # the name of an event, a field and a kind of object that say why there is no text
MAX_SEED = 1 << 31  # some servers hold no more
MAX_RETRY_S = 3_600.0
GROUNDED = "Answer briefly and from these passages only."
GO_ON = "Go on with the user's text where it ends. Write nothing but what comes next."
_KNOWN = {  # what an error calls itself, as the status that says the same
    "context_length_exceeded": 413,
    "exceed_context_size_error": 413,
    "insufficient_quota": 402,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "model_not_found": 404,
    "rate_limit_exceeded": 429,
    "unavailable_error": 503,
}
_BUSY = {429, 503, 529}
_MEANINGS: dict[int, tuple[type[HocketError], str, str]] = {  # of a status, or else of its hundred
    0: (Unavailable, "the server stopped with an error", "look at its log, or ask again"),
    200: (ProtocolError, "the server answers {} without text", "see [server] url and api"),
    300: (BadConfiguration, "the server has moved ({})", "set [server] url to its new address"),
    400: (BadRequest, "the server refuses the request ({})", "see [server] model and api, or shorten the prompt"),
    401: (Untrusted, "the server refuses the key, or asks for one", "see [server] key_file"),
    402: (Unavailable, "the server requires payment", "check the account of the key"),
    403: (Untrusted, "the server refuses the key, or asks for one", "see [server] key_file"),
    404: (BadConfiguration, "the server knows no such path or model", "see [server] url, api and model"),
    413: (BadRequest, "the prompt is too long for the server's model", "shorten it, or lower --max-tokens"),
    500: (Unavailable, "the server failed ({})", "look at its log, or ask again"),
}
_LONE = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # surrogates that are no bytes of "surrogateescape"


@dataclass(frozen=True, slots=True)
class Body:
    """A request's JSON, and the bytes in it of the text that is written already, the passages, and earlier turns."""

    data: bytes
    prefix_bytes: int
    passage_bytes: int
    history_bytes: int


class _Part(Struct, frozen=True):
    type: str = "text"
    text: str | None = None
    thinking: Any = None  # a text, or again parts


class _Delta(Struct, frozen=True):
    content: str | list[_Part | None] | None = None
    reasoning_content: Any = None  # thought, as servers call it that tell it apart
    reasoning: Any = None


class _Choice(Struct, frozen=True):
    text: str | None = None
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(Struct, frozen=True):
    choices: list[_Choice | None] | None = None
    usage: Any = None
    error: Any = None
    object: Any = None  # "error" where the chunk itself is one


def continues(api: Api) -> bool:
    """Tell whether this API can continue a text that is begun."""
    return api == "completions"


def thinking_of(request: TextRequest, settings: ServerSettings) -> int:
    """Tokens that may be thought before the text; a text that is begun is gone on with at once."""
    return settings.thinking if request.thinks and not request.prefix else 0


def body_of(request: TextRequest, settings: ServerSettings, dialect: Dialect = PLAIN) -> Body:
    """Return the body: the question, its passages, how to draw, the model's name, whether to think, and nothing else.

    Stop strings stay here. The template of a chat is asked to let the model think, or not to, as Qwen's calls it.
    Prefix and passages can be told from the rest by their bytes, since JSON escapes each character by itself.
    """
    sampling, thinking = request.sampling, thinking_of(request, settings)
    if settings.api == "chat":
        asked: dict[str, Any] = {"messages": _messages(request)}
        asked["chat_template_kwargs"] = {"enable_thinking": thinking > 0}
    else:
        asked = {"prompt": _prompt(request) + request.prefix}
    asked |= {
        "model": settings.model,
        "max_tokens": sampling.max_tokens + thinking,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed % MAX_SEED,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    history = sum(_size(turn.query) + _size(turn.answer) for turn in request.turns)
    return Body(msgspec.json.encode(dialect.spoken(asked)), _size(request.prefix), _size(_passages(request)), history)


def _size(text: str) -> int:
    """Return the bytes that a text takes within JSON."""
    return len(msgspec.json.encode(text)) - len('""')


def _passages(request: TextRequest) -> str:
    return "".join(f"{passage.strip()}\n\n" for passage in request.passages)


def _prompt(request: TextRequest) -> str:
    if request.task == "complete":
        return _passages(request) + request.prompt
    system = f"{request.system}\n\n" if request.system else ""
    turns = "".join(f"Question: {turn.query}\nAnswer: {turn.answer}\n\n" for turn in request.turns)
    asked = f"{system}{_passages(request)}{turns}Question: {request.prompt.strip()}\nAnswer:"
    return f"{asked} " if request.prefix else asked


def _messages(request: TextRequest) -> list[dict[str, str]]:
    told = f"{GROUNDED}\n\n" if request.passages and request.task == "answer" else ""
    user = _message("user", told + _passages(request) + request.prompt)
    if request.task == "complete":
        return [_message("system", GO_ON), user]
    system = [_message("system", request.system)] if request.system else []
    turns = [_message(*each) for turn in request.turns for each in (("user", turn.query), ("assistant", turn.answer))]
    return [*system, *turns, user]


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


class Characters:
    """A decoder of pieces that may end within a character, as bytes of UTF-8 or as the first of two surrogates."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._first = ""

    def add(self, piece: str) -> str:
        """Return the characters that are whole now; `piece` may hold bytes as "surrogateescape" has them."""
        piece, self._first = self._first + piece, ""
        if "\ud800" <= piece[-1:] <= "\udbff":
            piece, self._first = piece[:-1], piece[-1]
        paired = piece.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return self._decoder.decode(_LONE.sub("\ufffd", paired).encode("utf-8", "surrogateescape"))


class Streamed:
    """A text read from a server's chunks, with the thought before it, its end, and its token counts."""

    def __init__(self, request: TextRequest, api: Api, thinking: int = 0) -> None:
        """Begin an empty text; `thinking` tokens were asked for beyond the text's own."""
        self.finish: Finish | None = None
        self.usage: Usage | None = None
        self.is_over = False  # nothing more is to come that matters
        self._is_unread = False  # the last event, since it is no chunk
        self._max_tokens = request.sampling.max_tokens + thinking
        self._is_chat = api == "chat"
        self._characters = Characters()
        self._thinking = None if request.prefix else Thinking()
        self.has_thought = False  # in the last event
        self.thought = ""  # what that makes known of it
        self._reasoning_characters, self._reasoning = Characters(), Trimmed()
        self._has_reasoning = False
        self._emitter = Emitter(request.stop, strip=request.task == "answer" and not request.prefix)

    def add(self, data: str, name: str = "") -> str:
        """Return the text that the data of an event of this name makes readable.

        Raises the error that the event reports, or BadMessage. An event that is no chunk only shows that the server is
        there, unless the stream ends with it.
        """
        self.has_thought, self.thought = False, ""
        if not data.strip():
            return ""
        if data.strip() == DONE:
            self.check_end()
            self.is_over = True
            return "" if self.finish else self._end(self._unsaid())
        parsed = _parsed(data)
        self._is_unread = not isinstance(parsed, dict)
        if name == _ERROR:
            raise error_of(parsed.get(_ERROR, parsed) if isinstance(parsed, dict) else None)
        return self._read(_chunk(parsed)) if isinstance(parsed, dict) else ""

    def check_end(self) -> None:
        """Raise BadMessage where the last event is no chunk, and no end came before it: it may say what went wrong."""
        if self._is_unread and self.finish is None:
            raise _no_chunk()

    def _read(self, chunk: _Chunk) -> str:
        if chunk.error is not None:
            raise error_of(chunk.error)
        self.usage = _usage(chunk.usage) or self.usage
        choice = next(filter(None, chunk.choices or ()), _Choice())
        piece = "" if self.finish else self._take(choice)
        self.is_over = self.is_over or (self.finish is not None and self.usage is not None)
        return piece

    def _take(self, choice: _Choice) -> str:
        written = _written(choice.delta) if self._is_chat else choice.text
        said = self._characters.add(written or "")
        piece = self._emitter.add(self._thinking.add(said) if self._thinking else said)
        self._think(choice.delta, said)
        if self._emitter.stopped:
            self.finish, self.is_over = "stop", True
        elif choice.finish_reason:
            piece += self._end("length" if choice.finish_reason == "length" else "eos")
        elif len(self._emitter.text) > MAX_CHARACTERS:
            self.is_over = True
            piece += self._end("length")
        return piece

    def _think(self, delta: _Delta | None, said: str) -> None:
        goes_on = self._thinking is not None and self._thinking.goes_on
        told = self._reasoning_characters.add(_thought(delta))
        self.thought = self._reasoning.add(told + (self._thinking.thought if self._thinking else ""))
        self.has_thought = (goes_on and bool(said)) or bool(told)
        self._has_reasoning = self._has_reasoning or self.has_thought

    def _end(self, finish: Finish) -> str:
        goes_on = self._thinking is not None and self._thinking.goes_on
        held = self._emitter.add(self._thinking.end()) if self._thinking else ""
        held += self._emitter.finish()
        if goes_on or (finish == "length" and self._has_reasoning and not self._emitter.text):
            raise BadRequest(
                "the server's model used all its tokens for thinking and wrote no answer",
                "raise [server] thinking or --max-tokens, or turn its thinking off there",
            )
        self.finish = finish
        return held

    def _unsaid(self) -> Finish:
        """Return why a text ended for which the server gives no reason."""
        return "length" if self.usage and self.usage.completion_tokens >= self._max_tokens else "eos"


def _written(delta: _Delta | None) -> str | None:
    """The text of a piece, of whose parts some may be thought."""
    content = delta.content if delta is not None else None
    if not isinstance(content, list):
        return content
    return "".join(part.text or "" for part in content if part and part.type in {"text", "output_text"})


def _thought(delta: _Delta | None) -> str:
    """Return the thought in a piece; some servers send it twice, under either name."""
    if delta is None:
        return ""
    told = delta.reasoning_content or delta.reasoning
    parts = delta.content if isinstance(delta.content, list) else []
    return _text_in(told) + "".join(_text_in(part.thinking) for part in parts if part and part.type == "thinking")


def _text_in(thought: object) -> str:
    """Return a text, or that of a list of parts; empty for anything else."""
    if isinstance(thought, list):
        return "".join(_text_in(part.get("text")) for part in thought if isinstance(part, dict))
    return thought if isinstance(thought, str) else ""


def _parsed(data: str) -> object:
    """The JSON of an event; None where it is a word, such as "keep-alive". Raises BadMessage for a damaged chunk."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):  # the data is in neither's text that anybody reads
        if data.lstrip().startswith(("{", "[")):
            raise _no_chunk() from None
        return None


def _chunk(parsed: dict[str, object]) -> _Chunk:
    try:
        chunk = msgspec.convert(parsed, _Chunk)
    except ValueError:
        raise _no_chunk() from None
    return msgspec.structs.replace(chunk, error=parsed) if chunk.object == _ERROR and chunk.error is None else chunk


def _no_chunk() -> BadMessage:
    return BadMessage("the server streams something other than text", "see [server] url and api")


def _usage(usage: object) -> Usage | None:
    """Return the token counts, or None where they are no numbers: a text does not fail by how it is counted."""
    counted = usage if isinstance(usage, dict) else {}
    prompt, completion = counted.get("prompt_tokens"), counted.get("completion_tokens")
    if not isinstance(prompt, int) or not isinstance(completion, int) or prompt < 0 or completion < 0:
        return None
    return Usage(prompt, completion)


def refused(status: int, refusal: bytes, retry_after: str) -> HocketError:
    """Return the error that a refusal's status means, or the error in its body, if there is one."""
    try:
        parsed = json.loads(refusal)
    except (ValueError, RecursionError):
        parsed = None
    return error_of(parsed.get("error") if isinstance(parsed, dict) else None, status, retry_after)


def error_of(error: object, status: int = 0, retry_after: str = "") -> HocketError:
    """Return the error that a server's error means, by its HTTP status or by names and numbers in it that say the same.

    `error` is the value of "error" in its JSON, and `status` 0 where it stands within a stream; `retry_after` is the
    header of this name.
    """
    named = error if isinstance(error, dict) else {}
    for key in ("code", "status", "type"):
        value = named.get(key)
        if isinstance(value, str):
            status = _KNOWN.get(value, status)
        elif isinstance(value, int) and 400 <= value < 600:
            status = value
    return _by_status(status, retry_after)


def _by_status(status: int, retry_after: str) -> HocketError:
    if status in _BUSY:
        return Busy("the server is busy", retry_after_s=_seconds(retry_after))
    kind, text, remedy = _MEANINGS.get(status) or _MEANINGS.get(status // 100 * 100) or _MEANINGS[500]
    return kind(text.format(status), remedy)


def _seconds(retry_after: str) -> float:
    """Return the seconds in a header, at most MAX_RETRY_S; 1 where it has no number."""
    return min(float(retry_after), MAX_RETRY_S) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", retry_after) else 1.0
