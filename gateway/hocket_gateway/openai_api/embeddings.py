"""The path `/v1/embeddings`: texts in, their vectors out, as numbers or as base64 of float32."""

from __future__ import annotations

import base64
from typing import Any, Literal

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from ..gateway import Gateway
from ..hocket_api.embedding import MODEL, Role, numbers, texts_of, vectors
from ..http.body import read
from ..http.refusals import unsupported
from ..http.sending import json_response

InputType = Literal["query", "search_query", "document", "search_document", "passage"]  # the words of several servers


class EmbeddingsRequest(Struct, frozen=True, kw_only=True):
    """The body of a request for vectors; unknown fields are ignored."""

    model: str
    input: str | list[Any]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None
    input_type: InputType = "document"


async def embeddings(request: Request) -> Response:
    """Embed texts. Raises Refusal, HocketError."""
    gateway: Gateway = request.app.state.gateway
    wanted = await read(request, EmbeddingsRequest, gateway.settings.max_body_bytes)
    role: Role = "query" if wanted.input_type.endswith("query") else "document"
    rows = await vectors(
        gateway, request.state.person, wanted.model, texts_of(wanted.input, "input"), "input", role=role
    )
    length = len(numbers(rows[0]))
    if wanted.dimensions not in (None, length):
        raise unsupported("dimensions", f"a vector has {length} dimensions", "leave out dimensions")
    data = [
        {"object": "embedding", "index": at, "embedding": _shown(row, wanted.encoding_format)}
        for at, row in enumerate(rows)
    ]
    usage = {"prompt_tokens": 0, "total_tokens": 0}  # the embedder does not tell them
    return json_response({"object": "list", "data": data, "model": MODEL, "usage": usage})


def _shown(vector: bytes, encoding: str) -> str | list[float]:
    return base64.b64encode(vector).decode() if encoding == "base64" else numbers(vector)
