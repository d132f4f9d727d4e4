"""The path `/v1/models`: the ways of answering, and the device daemon's model and links."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ..access.people import Person
from ..answers.ways import Way, way_named, ways
from ..gateway import Gateway
from ..hocket_api.embedding import MODEL as EMBEDDINGS
from ..http.sending import json_response

# As Open WebUI reads them: it sends tools with every question to a model that does not say that it has none.
CAPABILITIES = {"builtin_tools": False, "vision": False, "citations": True, "usage": True}


async def models(request: Request) -> Response:
    """List all models that the person may ask."""
    gateway: Gateway = request.app.state.gateway
    person: Person = request.state.person
    behind = await gateway.behind()
    listed = [_entry(gateway, way, behind) for way in ways(alone_only=person.alone_only)]
    return json_response({"object": "list", "data": listed})


async def model(request: Request) -> Response:
    """Describe one model, also that of embeddings, which cannot be asked and is not listed. Raises Refusal."""
    gateway: Gateway = request.app.state.gateway
    person: Person = request.state.person
    if request.path_params["name"] == EMBEDDINGS:
        embedder = {"id": EMBEDDINGS, "object": "model", "created": gateway.started_s, "owned_by": "hocket"}
        return json_response(embedder)
    way = way_named(request.path_params["name"], alone_only=person.alone_only)
    return json_response(_entry(gateway, way, await gateway.behind()))


def _entry(gateway: Gateway, way: Way, behind: dict[str, str]) -> dict[str, Any]:
    return {
        "id": way.id,
        "object": "model",
        "created": gateway.started_s,
        "owned_by": "hocket",
        "description": way.about,
        "hocket": behind,
        "info": {"meta": {"description": way.about, "capabilities": CAPABILITIES}},
    }
