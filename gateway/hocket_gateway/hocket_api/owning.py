"""Paths for the owner, who needs no key: cut the link for all who ask, see any answer's record and the account."""

from __future__ import annotations

import re

from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import Response

from hocket_bus.errors import BadRequest

from ..access.people import NOBODY, Person
from ..gateway import Gateway
from ..http.body import read
from ..http.refusals import Refusal
from ..http.sending import json_response

_NUMBER = re.compile(r"[0-9a-f]{32}")


class LinkRequest(Struct, frozen=True, kw_only=True):
    """A request to cut the device off from its cloud, or to join it again."""

    cut: bool


async def link(request: Request) -> Response:
    """Cut the link, or join it. Raises Refusal, HocketError."""
    gateway = owned(request)
    wanted = await read(request, LinkRequest, gateway.settings.max_body_bytes)
    await (await gateway.upstream.client()).switch_link(cut=wanted.cut)
    return json_response({"cut": wanted.cut})


async def explanation(request: Request) -> Response:
    """Return the record of an answer, as in `hocket explain --json`. Raises Refusal, HocketError."""
    gateway, number = owned(request), request.path_params["number"]
    if not _NUMBER.fullmatch(number):
        raise Refusal(400, "an answer's ID has 32 hexadecimal digits", "use the id of its hocket object")
    try:
        return json_response(await (await gateway.upstream.client()).explain(bytes.fromhex(number)))
    except BadRequest as error:
        raise Refusal(404, error.text, error.remedy, "no_record") from error


async def account(request: Request) -> Response:
    """Return the bits of `hocket audit --by document`, and their bounds. Raises Refusal, HocketError."""
    found = await (await owned(request).upstream.client()).account()
    documents = [structs.asdict(each) for each in found.documents]
    bounds = {"bits_a_day": found.bits_a_day, "bits_a_document": found.bits_a_document}
    return json_response({"counted": found.is_counted, "documents": documents, "days": found.days, **bounds})


def is_owner(person: Person) -> bool:
    """Tell whether a person is this device's owner, who needs no key: the others are guests."""
    return person == NOBODY


def owned(request: Request) -> Gateway:
    """Return the gateway, for clients that need no key. Raises Refusal for one with a key, who is a guest."""
    if not is_owner(request.state.person):
        raise Refusal(403, "clients with a key may not do this", "use the command line on the device", "not_allowed")
    gateway: Gateway = request.app.state.gateway
    return gateway
