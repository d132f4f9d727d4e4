"""The path `/api/embed`, and `/api/embeddings` for older clients: texts in, their vectors out."""

from __future__ import annotations

import time
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from ..gateway import Gateway
from ..hocket_api.embedding import numbers, texts_of, vectors
from ..http.body import read
from ..http.sending import json_response


class EmbedRequest(Struct, frozen=True, kw_only=True):
    """The body of a request for vectors; unknown fields are ignored."""

    model: str
    input: str | list[Any] = ""


class OlderRequest(Struct, frozen=True, kw_only=True):
    """The body of an older client's request for the vector of one text; unknown fields are ignored."""

    model: str
    prompt: str = ""


async def embed(request: Request) -> Response:
    """Embed texts. Raises Refusal, HocketError."""
    gateway: Gateway = request.app.state.gateway
    wanted = await read(request, EmbedRequest, gateway.settings.max_body_bytes)
    began_ns, texts = time.monotonic_ns(), texts_of(wanted.input, "input")
    is_empty = texts in ([], [""])  # clients load a model so
    rows = [] if is_empty else await vectors(gateway, request.state.person, wanted.model, texts, "input")
    found = {"model": wanted.model, "embeddings": [numbers(row) for row in rows]}
    return json_response({**found, "total_duration": time.monotonic_ns() - began_ns, "load_duration": 0})


async def older(request: Request) -> Response:
    """Embed one text for an older client. Raises Refusal, HocketError."""
    gateway: Gateway = request.app.state.gateway
    wanted = await read(request, OlderRequest, gateway.settings.max_body_bytes)
    (row,) = await vectors(gateway, request.state.person, wanted.model, [wanted.prompt], "prompt")
    return json_response({"embedding": numbers(row)})
