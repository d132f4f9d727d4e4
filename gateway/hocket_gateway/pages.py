"""What a person opens: a document of this device that an answer cites."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from hocket_bus.errors import BadRequest

from .gateway import Gateway
from .people import Person
from .refusals import Refusal

HEADERS = {
    "content-security-policy": "default-src 'none'; sandbox",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


async def document(request: Request) -> Response:
    """Its text as it was read. Raises Refusal, or what keeps it from being read."""
    gateway: Gateway = request.app.state.gateway
    person: Person = request.state.person
    name = request.path_params["name"]
    if not person.may_read(name):
        raise Refusal(403, "this key may not read that document", "it reads its own folders alone", "not_allowed")
    try:
        return PlainTextResponse(await gateway.documents.text(name), headers=HEADERS)
    except BadRequest as error:
        raise Refusal(404, error.text, error.remedy, "no_document") from error
