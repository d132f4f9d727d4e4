"""The paths `/api/tags`, `/api/ps`, `/api/show` and `/api/version`: the models, as Ollama's clients ask for them."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from importlib.metadata import version as installed
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from hocket_bus import as_json

from ..access.people import Person
from ..answers.ways import LATEST, Way, way_named, ways
from ..gateway import Gateway
from ..http.body import read
from ..http.sending import json_response

SPOKEN = "0.13.0"  # the version of Ollama whose paths are here; clients refuse older ones
DETAILS = {
    "parent_model": "",
    "format": "hocket",
    "family": "hocket",
    "families": ["hocket"],
    "parameter_size": "",
    "quantization_level": "",
}


class ShowRequest(Struct, frozen=True):
    """The body of a request for one model; older clients say `name`."""

    model: str = ""
    name: str = ""


def timestamp(seconds: float) -> str:
    """Format a time as Ollama writes it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def line(value: object) -> bytes:
    """Return an object of a stream as a line."""
    return as_json.encoded(value) + b"\n"


async def version(_: Request) -> Response:
    """Return the version of Ollama's API, and hocket's own."""
    return json_response({"version": SPOKEN, "hocket": installed("hocket")})


async def tags(request: Request) -> Response:
    """List all models that the person may ask."""
    gateway: Gateway = request.app.state.gateway
    person: Person = request.state.person
    listed = [_entry(gateway, way) for way in ways(alone_only=person.alone_only)]
    return json_response({"models": listed})


async def running(request: Request) -> Response:
    """List the same models if the device daemon answers, whose model is always loaded; else none."""
    gateway: Gateway = request.app.state.gateway
    if not await gateway.behind():
        return json_response({"models": []})
    return await tags(request)


async def show(request: Request) -> Response:
    """Describe one model. Raises Refusal."""
    gateway: Gateway = request.app.state.gateway
    person: Person = request.state.person
    asked = await read(request, ShowRequest, gateway.settings.max_body_bytes)
    way = way_named(asked.model or asked.name, alone_only=person.alone_only)
    facts = {f"hocket.{name}": fact for name, fact in (await gateway.behind()).items()}
    return json_response(
        {
            "license": "",
            "modelfile": "",
            "parameters": "",
            "template": "{{ .Prompt }}",
            "details": DETAILS,
            "model_info": {"general.architecture": "hocket", "general.description": way.about, **facts},
            "capabilities": ["completion"],
            "modified_at": timestamp(gateway.started_s),
        }
    )


def _entry(gateway: Gateway, way: Way) -> dict[str, Any]:
    name = way.id + LATEST
    return {
        "name": name,
        "model": name,
        "modified_at": timestamp(gateway.started_s),
        "size": 0,
        "digest": hashlib.sha256(way.id.encode()).hexdigest(),
        "details": DETAILS,
    }
