"""Asks by `litellm`; writes what it got as JSON."""

from __future__ import annotations

import json
import sys

import litellm

asked = json.load(sys.stdin)
there = {"api_base": asked["url"], "api_key": asked["key"]}
chat = {"model": "openai/hocket", "messages": asked["messages"], **asked["options"], **there}
whole = litellm.completion(**chat)
*fragments, last = litellm.completion(**chat, stream=True, stream_options={"include_usage": True})
vectors = litellm.embedding(model="openai/hocket-embeddings", input=asked["texts"], **there)


def counts(usage: litellm.Usage) -> list[int]:
    return [usage.prompt_tokens, usage.completion_tokens]


got = {
    "whole": [whole.choices[0].message.content, *counts(whole.usage)],
    "stream": ["".join(piece.choices[0].delta.content or "" for piece in fragments), *counts(last.usage)],
    "vectors": [each["embedding"] for each in vectors.data],
}
json.dump(got, sys.stdout)
