"""Asks by `langchain-openai`; writes what it got as JSON."""

from __future__ import annotations

import json
import sys
from functools import reduce
from operator import add

from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

asked = json.load(sys.stdin)
there = {"base_url": asked["url"], "api_key": asked["key"], "max_retries": 0}
chat = ChatOpenAI(model="hocket", stream_usage=True, **asked["options"], **there)
texts = OpenAIEmbeddings(model="hocket-embeddings", check_embedding_ctx_length=False, **there)


def shown(message: AIMessage) -> list[str | int]:
    assert message.usage_metadata is not None
    return [str(message.content), message.usage_metadata["input_tokens"], message.usage_metadata["output_tokens"]]


got = {
    "whole": shown(chat.invoke(asked["messages"])),
    "stream": shown(reduce(add, chat.stream(asked["messages"]))),
    "vectors": texts.embed_documents(asked["texts"]),
}
json.dump(got, sys.stdout)
