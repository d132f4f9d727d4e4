"""What only whoever needs no key may: cut the link for all who ask here, and see what was decided for any answer."""

from __future__ import annotations

import re

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from hocket_bus.errors import BadRequest

from ..access.people import NOBODY
from ..gateway import Gateway
from ..http.body import read
from ..http.refusals import Refusal
from ..http.sending import json_response

_NUMBER = re.compile(r"[0-9a-f]{32}")


class LinkRequest(Struct, frozen=True, kw_only=True):
    """Whether the device is to be cut off from its cloud."""

    cut: bool


async def link(request: Request) -> Response:
    """Cut the link, or join it. Raises Refusal, HocketError."""
    gateway = owned(request)
    wanted = await read(request, LinkRequest, gateway.settings.max_body_bytes)
    await (await gateway.upstream.client()).switch_link(cut=wanted.cut)
    return json_response({"cut": wanted.cut})


async def explanation(request: Request) -> Response:
    """The record of an answer, as `hocket explain --json` has it. Raises Refusal, HocketError."""
    gateway, number = owned(request), request.path_params["number"]
    if not _NUMBER.fullmatch(number):
        raise Refusal(400, "an answer's number has 32 hexadecimal digits", "use the id of its hocket object")
    try:
        return json_response(await (await gateway.upstream.client()).explain(bytes.fromhex(number)))
    except BadRequest as error:
        raise Refusal(404, error.text, error.remedy, "no_record") from error


def owned(request: Request) -> Gateway:
    """The gateway, for whoever needs no key. Raises Refusal for a key's person: a key is that of a guest."""
    if request.state.person != NOBODY:
        raise Refusal(403, "a key is not enough for this", "use the command line of the device", "not_allowed")
    gateway: Gateway = request.app.state.gateway
    return gateway
