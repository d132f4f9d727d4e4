"""Tools of the asking program: one call in place of an answer, which the grammar holds to the tool's parameters.

A call is written as `{"name": NAME, "arguments": ARGUMENTS}`. The program makes it, and sends what comes of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from hocket_bus import as_json
from hocket_client import Options
from hocket_client.schema import json_rule

from ..http.refusals import Refusal, unsupported

_NO_PARAMETERS: dict[str, object] = {"type": "object", "properties": {}, "additionalProperties": False}
_NAME_CHARS = 64


class Tool(NamedTuple):
    """A function that the model may ask the program to call."""

    name: str
    description: str
    parameters: dict[str, object]

    @property
    def opening(self) -> str:
        """Return the text of a call before its arguments."""
        return f'{{"name": {as_json.text(self.name)}, "arguments": '


class Call(NamedTuple):
    """A call that a model asks for; `arguments` is JSON, cut short where the answer was."""

    name: str
    arguments: str

    def values(self) -> object:
        """Return the arguments by name; none where the call was cut short."""
        try:
            return msgspec.json.decode(self.arguments)
        except msgspec.DecodeError:
            return {}


class Tools:
    """The tools of one request, of which the answer calls one if it must, and may call one otherwise."""

    def __init__(self, tools: Sequence[Tool], *, must: bool) -> None:
        self._tools = tools
        self._must = must

    @property
    def grammar(self) -> str:
        """The grammar of the answer: a call, or, unless it must be one, a text that does not begin like one."""
        rules = ["start: call"] if self._must else ["start: call | text", "text: /[^{](.|\\n)*/"]
        rules.append("call: " + " | ".join(f"call_{at}" for at in range(len(self._tools))))
        for at, tool in enumerate(self._tools):
            rules.append(f'call_{at}: {as_json.text(tool.opening)} arguments_{at} "}}"')
            rules.append(f"arguments_{at}: {json_rule(tool.parameters)}")
        return "\n".join(rules)

    @property
    def system(self) -> str:
        """The lines that tell the model of the tools."""
        listed = [as_json.text(tool._asdict()) for tool in self._tools]
        must = "Call one of these tools:" if self._must else "You can call these tools if the question needs one:"
        how = 'To call one, answer with {"name": NAME, "arguments": ARGUMENTS} and nothing else.'
        return "\n".join([must, *listed, how])

    def offer(self, options: Options) -> None:
        """Offer the tools to the model that answers, which may then answer what no passage says."""
        options["grammar"] = self.grammar
        options["messages"] = [{"role": "system", "content": self.system}, *options["messages"]]
        options.setdefault("unknown", "answer")

    def call(self, text: str) -> Call | None:
        """Return the call that an answer is; None for any other answer."""
        tool = self._named(text)
        if tool is None:
            return None
        return Call(tool.name, text[len(tool.opening) :].removesuffix("}"))

    def _named(self, text: str) -> Tool | None:
        return next((tool for tool in self._tools if text.startswith(tool.opening)), None)


class CallStream:
    """The text of an answer as it comes, told apart: a call's name and arguments, or plain text."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._text = ""
        self._sent = 0  # characters of the arguments
        self.call: Call | None = None  # once its name is known

    def add(self, text: str) -> str:
        """Return the part of the answer that is plain text and may be shown now."""
        self._text += text
        return "" if self.is_call else text

    @property
    def is_call(self) -> bool:
        """Tell whether the answer is a call, as far as it has come."""
        return self._text.startswith("{")

    def begun(self) -> str | None:
        """Return the name of the tool, once, as soon as it is known."""
        if self.call is not None:
            return None
        self.call = self._tools.call(self._text)
        return self.call.name if self.call is not None else None

    def arguments(self) -> str:
        """Return what has come of the arguments since the last time."""
        call = self._tools.call(self._text)
        if call is None:
            return ""
        new = call.arguments[self._sent :]
        self._sent += len(new)
        return new


def tools_of(tools: Sequence[Any] | None, choice: object) -> Tools | None:
    """Return the tools of a request, in the form of OpenAI's chat completions; None for none. Raises Refusal."""
    if not tools and choice not in (None, "auto", "none"):
        text = "tool_choice wants a call, and there are no tools"
        raise Refusal(400, text, "send tools, or leave tool_choice out", "bad_request", param="tool_choice")
    if not tools or choice == "none":
        return None
    found = [_tool(each, f"tools[{at}]") for at, each in enumerate(tools)]
    if choice in (None, "auto", "required"):
        return Tools(found, must=choice == "required")
    named = choice.get("function") if isinstance(choice, dict) else None
    name = named.get("name") if isinstance(named, dict) else None
    chosen = [tool for tool in found if tool.name == name]
    if not chosen:
        text = "tool_choice names none of the tools"
        raise Refusal(400, text, "use auto, required, none, or one of them", "bad_request", param="tool_choice")
    return Tools(chosen, must=True)


def _tool(given: object, param: str) -> Tool:
    if not isinstance(given, dict) or given.get("type", "function") != "function":
        raise unsupported(param, "a tool is no function", "send functions alone")
    function = given.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(function, dict) or not isinstance(name, str) or not 0 < len(name) <= _NAME_CHARS:
        text = f"a tool has no name of 1 to {_NAME_CHARS} characters"
        raise Refusal(400, text, "name each function", "bad_request", param=param)
    parameters = function.get("parameters") or _NO_PARAMETERS
    if not isinstance(parameters, dict):
        raise Refusal(400, f"the parameters of {name} are no JSON Schema", "send one", "bad_request", param=param)
    return Tool(name, str(function.get("description") or ""), parameters)
