"""An engine on a real socket that finds the people of toy documents, and relates those who met."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from scripted_server import Scripted, Step, refusal

KEY = "sk-very-secret-0123"


def completion(content: str) -> bytes:
    """A whole answer."""
    return refusal(200, {"choices": [{"message": {"role": "assistant", "content": content}}]})


def passage(server: Scripted) -> str:
    """The chunk of the last request."""
    return str(server.body["messages"][-1]["content"])


def finds_people(server: Scripted) -> Iterable[Step]:
    """Their names alone: the rules find things, too."""
    people = re.findall(r"[A-Z]\w+ [A-Z]\w+", passage(server).removeprefix("Then "))
    yield completion(json.dumps({"entities": people, "relations": [people[:2]]}))
