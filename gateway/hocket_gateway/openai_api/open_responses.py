"""`/v1/responses`: an input in, a response out, which the next request may refer to."""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ..body import read
from ..gateway import Gateway
from ..people import Person
from ..questions import Answer
from ..refusals import Refusal
from ..response_store import StoredResponse
from ..sending import EventStream, json_response, whole
from ..ways import way_named
from .resource import MAX_CHAIN, Resource, ResponseRequest, asked_messages, response_options
from .response_events import Keep, events

Messages = list[dict[str, str]]


async def create(request: Request) -> Response:
    """Raises Refusal."""
    gateway: Gateway = request.app.state.gateway
    person: Person = request.state.person
    wanted = await read(request, ResponseRequest, gateway.settings.max_body_bytes)
    way = way_named(wanted.model, alone_only=person.alone_only)
    options, asked = response_options(wanted), asked_messages(wanted)
    before = _before(gateway, person, wanted.previous_response_id or "")
    told = [{"role": "system", "content": wanted.instructions}] if wanted.instructions else []
    options["messages"] = [*told, *before, *asked]
    answer = await gateway.questions.ask(person, way, options)
    is_kept = gateway.responses is not None and wanted.store is not False
    resource = Resource(answer, wanted, stored=is_kept)
    keep = _keeper(gateway, person, wanted, asked) if is_kept else _forget
    base = str(request.base_url).rstrip("/")
    if wanted.stream:
        return EventStream(events(gateway, answer, resource, base, keep), answer.close)
    return await whole(request, _response(gateway, answer, resource, base, keep), answer.close)


async def retrieve(request: Request) -> Response:
    """One that was stored. Raises Refusal."""
    found = _found(request)
    return Response(found.resource, media_type="application/json")


async def delete(request: Request) -> Response:
    """Forget one. Raises Refusal."""
    found, gateway = _found(request), _gateway(request)
    assert gateway.responses is not None
    gateway.responses.forget(found.id, found.person)
    return json_response({"id": found.id, "object": "response", "deleted": True})


def _gateway(request: Request) -> Gateway:
    gateway: Gateway = request.app.state.gateway
    return gateway


def _found(request: Request) -> StoredResponse:
    person: Person = request.state.person
    return _stored(_gateway(request), person, request.path_params["id"], "id")


def _stored(gateway: Gateway, person: Person, id: str, param: str) -> StoredResponse:
    found = gateway.responses.find(id, person.name) if gateway.responses is not None else None
    if found is None:
        text = f"there is no response '{id[:100]}'"
        raise Refusal(404, text, "it was not stored, or is another person's", "response_not_found", param=param)
    return found


def _before(gateway: Gateway, person: Person, previous: str) -> Messages:
    """What was asked and answered before, the oldest first. Raises Refusal where that is not here."""
    parts = list[Messages]()
    while previous and len(parts) < MAX_CHAIN:
        found = _stored(gateway, person, previous, "previous_response_id")
        parts.append([*msgspec.json.decode(found.asked, type=Messages), _answer_of(found)])
        previous = found.previous
    return [message for part in reversed(parts) for message in part]


def _answer_of(found: StoredResponse) -> dict[str, str]:
    resource = msgspec.json.decode(found.resource)
    return {"role": "assistant", "content": resource["output"][0]["content"][0]["text"]}


def _keeper(gateway: Gateway, person: Person, wanted: ResponseRequest, asked: Messages) -> Keep:
    def keep(resource: dict[str, Any]) -> None:
        assert gateway.responses is not None
        previous, raw = wanted.previous_response_id or "", msgspec.json.encode(resource)
        stored = StoredResponse(resource["id"], person.name, previous, msgspec.json.encode(asked), raw)
        try:
            gateway.responses.put(stored)
        except sqlite3.Error as error:
            text = f"the response cannot be stored: {error}"
            raise Refusal(507, text, "make room on the device, or ask with store: false", "not_stored") from error

    return keep


def _forget(_: dict[str, Any]) -> None:
    """It is not stored."""


async def _response(gateway: Gateway, answer: Answer, resource: Resource, base: str, keep: Keep) -> Response:
    done = await answer.done()
    value = resource.ended(done, await gateway.citations(done, answer, base))
    keep(value)
    return json_response(value)
