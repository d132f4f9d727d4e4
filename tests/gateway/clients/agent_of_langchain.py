"""Asks for a structure, and for calls of two tools, by `langchain-openai`; writes what came of them."""

from __future__ import annotations

import json
import sys
from typing import Any, Literal

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

asked = json.load(sys.stdin)
options = asked["options"] | {"max_tokens": 120}
more = {"extra_body": {"unknown": "answer"}, "max_retries": 0}
chat = ChatOpenAI(model="hocket", base_url=asked["url"], api_key=asked["key"], **options, **more)


class Found(BaseModel):
    """The structure to return."""

    bird: Literal["heron", "kala", "mira"]
    stands: bool


@tool
def weather(town: Literal["kala", "mira"], days: Literal[1, 2, 3]) -> str:
    """Tell the weather of a town in some days."""
    return f"rain in {town} in {days} days"


@tool
def clock() -> str:
    """Tell the time."""
    return "noon"


tools = {each.name: each for each in (weather, clock)}
found = chat.with_structured_output(Found, method="json_schema").invoke(asked["messages"])
messages: list[Any] = [HumanMessage(asked["messages"][0]["content"])]
made = []
for choice in ("any", "weather", "none"):
    message = chat.bind_tools(list(tools.values()), tool_choice=choice).invoke(messages)
    messages.append(message)
    for call in message.tool_calls:
        result = tools[call["name"]].invoke(call["args"])
        made.append([call["name"], result])
        messages.append(ToolMessage(result, tool_call_id=call["id"]))
json.dump({"found": found.model_dump(), "made": made, "last": messages[-1].content}, sys.stdout)
