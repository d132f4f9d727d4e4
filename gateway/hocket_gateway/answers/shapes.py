"""Objects that several of OpenAI's paths share."""

from __future__ import annotations

from typing import Any

from hocket_bus import as_json
from hocket_bus.messages import Done

DONE = b"data: [DONE]\n\n"


def sse(value: object) -> bytes:
    """Return a server-sent event with a value as JSON."""
    return b"data: " + as_json.encoded(value) + b"\n\n"


def usage_of(done: Done) -> dict[str, Any]:
    """Return the numbers of tokens. Those of the prompt were read on the device, with its passages."""
    prompt, tokens = done.prompt_tokens, len(done.token_ids)
    return {"prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens}
