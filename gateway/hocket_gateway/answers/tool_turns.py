"""The messages of a conversation with tools, as turns of text: calls as the model writes them, and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hocket_client.conversation import ROLES

from ..http.refusals import Refusal, unsupported
from .marks import unmarked
from .tools import Call, Tool

Messages = list[dict[str, str]]
NO_CALLS: Mapping[str, Call] = {}


class Message(NamedTuple):
    """A message of either API: its text, the calls in it by their ids, and the id of the call that it answers."""

    role: str
    text: str
    calls: Mapping[str, Call] = NO_CALLS
    result_of: str = ""


def spoken(messages: Sequence[Message], field: str = "messages", before: int = 0) -> Messages:
    """Return the messages as system, user and assistant would have written them. Raises Refusal.

    They came in this field of the request, but for so many `before` them.
    """
    said, calls, question = Messages(), dict[str, Call](), ""
    for at, message in enumerate(messages):
        if message.role == "tool":
            call = calls.get(message.result_of)
            if call is None:
                text = f"{field}[{at - before}] is the result of no earlier call"
                raise Refusal(400, text, "send the call before it", "bad_request", param=f"{field}[{at - before}]")
            said.append({"role": "user", "content": _result(call.name, message.text, question)})
            continue
        if message.role not in ROLES:
            text = f"a message of '{message.role[:50]}' is not supported"
            raise unsupported(f"{field}[{at - before}]", text, f"use the roles {', '.join(ROLES)} and tool")
        calls |= message.calls
        question = message.text if message.role == "user" else question
        said.append({"role": message.role, "content": _written(message)})
    return said


def stored(message: Message) -> dict[str, Any]:
    """Return a message as it is stored."""
    calls = {id: [call.name, call.arguments] for id, call in message.calls.items()}
    return {"role": message.role, "content": message.text, "calls": calls, "result_of": message.result_of}


def restored(found: Mapping[str, Any]) -> Message:
    """Return a message that was stored, also one of a version without tools."""
    calls = {id: Call(*call) for id, call in found.get("calls", {}).items()}
    return Message(found["role"], found["content"], calls, found.get("result_of", ""))


def call_of(name: object, arguments: str, param: str) -> Call:
    """Return an earlier call. Raises Refusal for one without a name."""
    if not isinstance(name, str):
        raise Refusal(400, "a call has no function with a name", "send it as it came", "bad_request", param=param)
    return Call(name, arguments)


def _written(message: Message) -> str:
    """Return a message as it was written, without the marks of an earlier answer."""
    if message.role != "assistant":
        return message.text
    calls = [f"{Tool(call.name, '', {}).opening}{call.arguments}}}" for call in message.calls.values()]
    return "\n".join(filter(None, [unmarked(message.text), *calls]))


def _result(name: str, result: str, question: str) -> str:
    """Return the message by which a model hears what came of a call, and what it was for."""
    return f"{question}\n\nThe answer of {name} is: {result}\nNow answer the question in words."
