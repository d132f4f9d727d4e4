"""Objects that several of OpenAI's paths share."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.responses import Response

from hocket_bus.messages import Done

DONE = b"data: [DONE]\n\n"
FINISHES = {"eos": "stop", "stop": "stop", "cancelled": "stop", "length": "length"}


def sse(value: object) -> bytes:
    """An event of a stream."""
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


def json_response(value: object) -> Response:
    """A whole answer."""
    return Response(msgspec.json.encode(value), media_type="application/json")


def usage_of(done: Done) -> dict[str, Any]:
    """Numbers of tokens. Those of the prompt are 0: the pair does not tell them, and each side reads one of its own."""
    tokens = len(done.token_ids)
    return {"prompt_tokens": 0, "completion_tokens": tokens, "total_tokens": tokens}
