"""A response as an object, in every state of its life, as Open Responses defines it (openresponses.org)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from hocket_bus.messages import MAX_TURNS, Done, Token
from hocket_client import Options
from hocket_client.conversation import ROLES

from ..answers.citations import Citation
from ..answers.formats import schema_of
from ..answers.logprobs import entries, wanted_logprobs
from ..answers.questions import Answer
from ..answers.tool_turns import Message, call_of, spoken
from ..answers.tools import Call, Tools, tools_of
from ..http.refusals import Refusal, unsupported
from .wanted import Content, Wanted, options_of, text_of

LOGPROBS = "message.output_text.logprobs"  # what of a response may be included
MAX_CHAIN = MAX_TURNS  # responses before this one that are asked with it
MAX_METADATA, MAX_KEY_CHARS, MAX_VALUE_CHARS = 16, 64, 512
MAX_STORED_BYTES = 256 << 10  # of what is asked, in a response that is stored
CODES = {400: "invalid_prompt", 429: "rate_limit_exceeded"}  # the API has few words for why a response failed


class InputItem(Struct, frozen=True):
    """A message, a call of a tool, or what came of one; items of other types have no role."""

    type: str = "message"
    role: str = ""
    content: Content = None
    call_id: str = ""
    name: str = ""
    arguments: str = ""
    output: Content = None


class ResponseRequest(Wanted, frozen=True, kw_only=True):
    """The body of a request for a response; unknown fields are ignored."""

    input: str | list[InputItem]
    instructions: str | None = None
    max_output_tokens: int | None = None
    store: bool | None = None
    previous_response_id: str | None = None
    metadata: dict[str, str] | None = None
    tools: list[Any] | None = None
    tool_choice: Any = None
    text: dict[str, Any] | None = None
    background: bool | None = None
    conversation: Any = None
    top_logprobs: int | None = None
    include: list[str] | None = None
    user: str | None = None

    @property
    def format(self) -> dict[str, Any] | None:
        """The format that the text is to have; None: any."""
        found = (self.text or {}).get("format")
        return found if isinstance(found, dict) else None

    @property
    def offered(self) -> Tools | None:
        """The tools that the answer may call; None for none. Raises Refusal."""
        choice = self.tool_choice
        named = {"function": {"name": choice.get("name")}} if isinstance(choice, dict) else choice
        return tools_of([_nested(each) for each in self.tools or ()], named)

    @property
    def is_cited(self) -> bool:
        """Tell whether documents are cited; an answer to a tool's result is made of that result instead."""
        return isinstance(self.input, str) or not self.input or self.input[-1].type != "function_call_output"

    @property
    def has_logprobs(self) -> bool:
        """Tell whether log-probabilities are requested: by `include`, or by a number of the likeliest."""
        return bool(self.top_logprobs) or LOGPROBS in (self.include or ())


def _nested(tool: object) -> object:
    """Return a tool in the form of chat completions, which has the function's fields below it."""
    if not isinstance(tool, dict) or tool.get("type") != "function":
        return tool
    return {"type": "function", "function": {name: value for name, value in tool.items() if name != "type"}}


def response_options(wanted: ResponseRequest, before: Sequence[Message], asked: Sequence[Message]) -> Options:
    """Return the client's options for what is asked after earlier messages. Raises Refusal for unsupported ones."""
    if wanted.conversation:
        raise unsupported("conversation", "conversations are not supported", "use store and previous_response_id")
    _check_metadata(wanted.metadata or {})
    options = options_of(wanted, logprobs=wanted_logprobs(wanted.has_logprobs, wanted.top_logprobs))
    if (schema := schema_of(wanted.format, "text.format")) is not None:
        options["schema"] = schema
        options.setdefault("unknown", "mark")  # the text is JSON always
    options["messages"] = spoken([*before, *asked], "input", len(before))
    if (tools := wanted.offered) is not None:
        if schema is not None:
            raise unsupported("text.format", "a request with tools cannot have a format, too", "leave out one of them")
        tools.offer(options)
    if wanted.max_output_tokens is not None:
        options["max_tokens"] = wanted.max_output_tokens
    return options


def check_size(wanted: ResponseRequest, asked: Sequence[Message]) -> None:
    """Raise Refusal if the request is too long to be stored."""
    texts = [text for each in asked for text in (each.text, *(call.arguments for call in each.calls.values()))]
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    size += len((wanted.instructions or "").encode("utf-8", "replace"))
    if size > MAX_STORED_BYTES:
        text = f"input and instructions have more than {MAX_STORED_BYTES} bytes, too much to store"
        raise Refusal(413, text, "shorten them, or send store: false", "too_long", param="input")


def _check_metadata(metadata: dict[str, str]) -> None:
    """Raise Refusal if the metadata exceed what the API allows."""
    is_long = any(len(key) > MAX_KEY_CHARS or len(value) > MAX_VALUE_CHARS for key, value in metadata.items())
    if is_long or len(metadata) > MAX_METADATA:
        text = f"more than {MAX_METADATA} pairs, or one over {MAX_KEY_CHARS} and {MAX_VALUE_CHARS} characters"
        raise Refusal(400, text, "shorten metadata", "bad_request", param="metadata")


def asked_messages(wanted: ResponseRequest) -> list[Message]:
    """Return the input as messages. Raises Refusal."""
    if isinstance(wanted.input, str):
        return [Message("user", wanted.input)]
    if not wanted.input:
        raise Refusal(400, "the input is empty", "send a text, or messages", "bad_request", param="input")
    items = enumerate(wanted.input)  # clients send back all that they got; a thought is no turn
    return [_message(item, f"input[{at}]") for at, item in items if item.type != "reasoning"]


def _message(item: InputItem, param: str) -> Message:
    """Return an item as a message. Raises Refusal."""
    if item.type == "function_call":
        return Message("assistant", "", {item.call_id: call_of(item.name, item.arguments or "{}", param)})
    if item.type == "function_call_output":
        return Message("tool", text_of(item.output, f"{param}.output"), result_of=item.call_id)
    if item.type != "message" or item.role not in ROLES:
        text = f"an item '{item.type[:50]}' with the role '{item.role[:50]}' is not supported"
        raise unsupported(param, text, f"send messages with the roles {', '.join(ROLES)}, calls, and their outputs")
    return Message(item.role, text_of(item.content, f"{param}.content"))


class Resource:
    """The response to one request."""

    def __init__(self, answer: Answer, wanted: ResponseRequest, *, stored: bool) -> None:
        self.id = f"resp_{answer.number}"
        self.message_id = f"msg_{answer.number}"
        self.reasoning_id = f"rs_{answer.number}"
        self.call_item_id = f"fc_{answer.number}"
        self.tools = wanted.offered
        self.is_cited = wanted.is_cited
        self._answer = answer
        self._wanted = wanted
        self._stored = stored

    def begun(self) -> dict[str, Any]:
        """Return the response while it is written."""
        return self._object("in_progress", [])

    def failed(self, refusal: Refusal) -> dict[str, Any]:
        """Return the response when it has ended with an error."""
        code = CODES.get(refusal.status, "server_error")
        return self._object("failed", []) | {"error": {"code": code, "message": str(refusal)}}

    def ended(self, done: Done, citations: list[Citation]) -> dict[str, Any]:
        """Return the whole response."""
        is_cut = done.finish == "length"
        status = "incomplete" if is_cut else "completed"
        tokens = len(done.token_ids)
        call = self.tools.call(done.text) if self.tools is not None else None
        last = self.call(status, call) if call else self.message(status, [self.part(done.text, citations)])
        return self._object(status, [*self._reasoning(), last]) | {
            "completed_at": int(time.time()),
            "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
            "usage": {
                "input_tokens": done.prompt_tokens,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": done.prompt_tokens + tokens,
            },
            "hocket": self._answer.facts(done),
        }

    def thought(self) -> str:
        """Return all that was streamed of the model's thoughts before the message."""
        return "".join(self._answer.thoughts)

    def _reasoning(self) -> list[dict[str, Any]]:
        return [self.reasoning("completed", [thought_part(self.thought())])] if self._answer.thoughts else []

    def reasoning(self, status: str, content: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the item before the message, used if the model has thought."""
        return {"type": "reasoning", "id": self.reasoning_id, "status": status, "summary": [], "content": content}

    def message(self, status: str, content: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the item of the output that is the answer, the last one."""
        return {
            "type": "message",
            "id": self.message_id,
            "status": status,
            "role": "assistant",
            "content": content,
        }

    def call(self, status: str, call: Call) -> dict[str, Any]:
        """Return the item of the output that is a call in place of an answer."""
        return {
            "type": "function_call",
            "id": self.call_item_id,
            "call_id": f"call_{self._answer.number}",
            "status": status,
            "name": call.name,
            "arguments": call.arguments,
        }

    def part(self, text: str, citations: list[Citation]) -> dict[str, Any]:
        """Return the one part of the message."""
        logprobs = self.logprobs(self._answer.tokens) if text else []
        return {"type": "output_text", "text": text, "annotations": flat(citations), "logprobs": logprobs}

    def logprobs(self, tokens: Sequence[Token]) -> list[dict[str, Any]]:
        """Return the log-probabilities of tokens, if they are requested."""
        return entries(tokens) if self._wanted.has_logprobs else []

    def _object(self, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
        wanted = self._wanted
        return {
            "id": self.id,
            "object": "response",
            "created_at": self._answer.created_s,
            "completed_at": None,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": wanted.instructions,
            "max_output_tokens": wanted.max_output_tokens,
            "model": self._answer.way.id,
            "output": output,
            "previous_response_id": wanted.previous_response_id,
            "store": self._stored,
            "background": bool(wanted.background),
            "temperature": wanted.temperature if wanted.temperature is not None else 0.0,
            "top_p": wanted.top_p if wanted.top_p is not None else 0.9,
            "metadata": wanted.metadata or {},
            "top_logprobs": wanted.top_logprobs or 0,
            "user": wanted.user,
            "usage": None,
            **_FIXED,
            "text": {"format": wanted.format or {"type": "text"}},
            "tools": wanted.tools or [],
            "tool_choice": wanted.tool_choice or ("auto" if wanted.tools else "none"),
        }


_FIXED: dict[str, Any] = {
    "frequency_penalty": 0.0,
    "max_tool_calls": None,
    "parallel_tool_calls": False,
    "presence_penalty": 0.0,
    "prompt_cache_key": None,
    "reasoning": None,
    "safety_identifier": None,
    "service_tier": "default",
    "truncation": "auto",  # the oldest turns go where the context is too short
}


def thought_part(text: str) -> dict[str, Any]:
    """Return the one part of the model's thoughts."""
    return {"type": "reasoning_text", "text": text}


def flat(citations: list[Citation]) -> list[dict[str, Any]]:
    """Return annotations in this API's format: their fields beside their type."""
    return [{"type": each["type"], **each["url_citation"]} for citation in citations for each in citation.annotations()]
