"""The messages of a conversation with tools, as turns of text: calls as the model writes them, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hocket_client.conversation import ROLES

from ..answers.marks import unmarked
from ..answers.tools import Call, Tool
from ..http.refusals import Refusal, unsupported
from .wanted import ChatMessage, text_of

Messages = list[dict[str, str]]


def call_object(number: str, call: Call) -> dict[str, Any]:
    """Return a call in OpenAI's form; `number` is the answer's."""
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": f"call_{number}", "type": "function", "function": function}


def spoken(messages: Sequence[ChatMessage]) -> Messages:
    """Return the messages as system, user and assistant would have written them. Raises Refusal."""
    said, names, question = Messages(), dict[str, str](), ""
    for at, message in enumerate(messages):
        content = text_of(message.content, f"messages[{at}].content")
        if message.role == "tool":
            name = names.get(message.tool_call_id or "")
            if name is None:
                text = f"messages[{at}] is the result of no earlier call"
                raise Refusal(400, text, "send the call before it", "bad_request", param=f"messages[{at}]")
            said.append({"role": "user", "content": _result(name, content, question)})
        elif message.role not in ROLES:
            text = f"a message of '{message.role[:50]}' is not supported"
            raise unsupported(f"messages[{at}]", text, f"use the roles {', '.join(ROLES)} and tool")
        elif message.role == "assistant":
            calls = [_earlier(call, f"messages[{at}].tool_calls", names) for call in message.tool_calls or ()]
            said.append({"role": "assistant", "content": "\n".join(filter(None, [unmarked(content), *calls]))})
        else:
            question = content if message.role == "user" else question
            said.append({"role": message.role, "content": content})
    return said


def _result(name: str, result: str, question: str) -> str:
    """Return the message by which a model is told what came of a call, and what it was for."""
    return f"The tool {name} returned: {result}\n\nWith this, answer: {question}"


def _earlier(call: object, param: str, names: dict[str, str]) -> str:
    """Return an earlier call as the model wrote it, and add its name to `names` by its id. Raises Refusal."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise Refusal(400, "a call has no function with a name", "send it as it came", "bad_request", param=param)
    names[str(call.get("id"))] = function["name"]
    arguments = function.get("arguments") or "{}"
    return f"{Tool(function['name'], '', {}).opening}{arguments}}}"
