"""The path `/v1/responses`: an input in, a response out, which the next request may refer to."""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from hocket_bus import as_json

from ..access.people import Person
from ..answers.background import Running
from ..answers.questions import Answer
from ..answers.response_store import StoredResponse
from ..answers.tool_turns import Message, restored, stored
from ..answers.tools import Call
from ..answers.ways import way_named
from ..gateway import Gateway
from ..http.body import read
from ..http.refusals import Refusal, unsupported
from ..http.sending import EventStream, json_response, whole
from .resource import MAX_CHAIN, Resource, ResponseRequest, asked_messages, check_size, response_options
from .response_events import Keep, events

Messages = list[Message]


async def create(request: Request) -> Response:
    """Answer an input. Raises Refusal."""
    gateway: Gateway = request.app.state.gateway
    person: Person = request.state.person
    wanted = await read(request, ResponseRequest, gateway.settings.max_body_bytes)
    way = way_named(wanted.model, alone_only=person.alone_only)
    asked, before = asked_messages(wanted), _before(gateway, person, wanted.previous_response_id or "")
    told = [Message("system", wanted.instructions)] if wanted.instructions else []
    options = response_options(wanted, [*told, *before], asked)
    is_kept = gateway.responses is not None and wanted.store is not False
    if wanted.background and not is_kept:
        raise unsupported("background", "a response in the background is stored", "leave out store")
    if is_kept:
        check_size(wanted, asked)
    answer = await gateway.questions.ask(person, way, options)
    resource = Resource(answer, wanted, stored=is_kept)
    keep = _keeper(gateway, person, wanted, asked) if is_kept else _forget
    base = str(request.base_url).rstrip("/")
    if wanted.background:
        running = _started(gateway, person, answer, resource, keep=keep, base=base)
        return _following(running, -1) if wanted.stream else json_response(running.resource)
    if wanted.stream:
        return EventStream(events(gateway, answer, resource, base, keep), answer.close)
    return await whole(request, _response(gateway, answer, resource, base, keep), answer.close)


def _started(gateway: Gateway, person: Person, answer: Answer, resource: Resource, *, keep: Keep, base: str) -> Running:
    """Start a response in the background, which continues by itself."""
    running = Running(person.account, resource.begun())

    def ended(value: dict[str, Any]) -> None:
        running.resource = value
        keep(value)

    running.start(events(gateway, answer, resource, base, ended), answer.close)
    gateway.background.put(resource.id, running)
    return running


def _following(running: Running, after: int) -> Response:
    return EventStream(running.follow(after), lambda: None)


async def retrieve(request: Request) -> Response:
    """Return a running or stored response; with `stream` the events of one in the background. Raises Refusal."""
    running = _running(request)
    if request.query_params.get("stream") == "true":
        if running is None:
            text = "the events of this response are not stored"
            raise Refusal(400, text, "ask for it without stream", "no_events", param="stream")
        return _following(running, _after(request))
    if running is not None:
        return json_response(running.resource)
    return Response(_found(request).resource, media_type="application/json")


async def cancel(request: Request) -> Response:
    """End a response in the background. Raises Refusal."""
    running = _running(request)
    if running is None:
        id = _found(request).id
        raise Refusal(400, f"{id} does not run in the background", "close its connection instead", "not_in_background")
    await running.cancel()
    return json_response(running.resource)


async def delete(request: Request) -> Response:
    """Forget a response; it ends if it is still running. Raises Refusal."""
    gateway, id = _gateway(request), request.path_params["id"]
    person: Person = request.state.person
    if _running(request) is not None:
        await gateway.background.forget(id)
        if gateway.responses is not None:
            gateway.responses.forget(id, person.account)
    else:
        found = _found(request)
        assert gateway.responses is not None
        gateway.responses.forget(found.id, found.person)
    return json_response({"id": id, "object": "response", "deleted": True})


def _running(request: Request) -> Running | None:
    person: Person = request.state.person
    return _gateway(request).background.find(request.path_params["id"], person.account)


def _after(request: Request) -> int:
    """Return the number of the event that was read last, -1 for none. Raises Refusal."""
    said = request.query_params.get("starting_after") or request.headers.get("last-event-id") or "-1"
    try:
        return max(-1, int(said[:20]))
    except ValueError as error:
        text = f"'{said[:20]}' is not an event number"
        raise Refusal(400, text, "send a sequence_number", "bad_request", param="starting_after") from error


def _gateway(request: Request) -> Gateway:
    gateway: Gateway = request.app.state.gateway
    return gateway


def _found(request: Request) -> StoredResponse:
    person: Person = request.state.person
    return _stored(_gateway(request), person, request.path_params["id"], "id")


def _stored(gateway: Gateway, person: Person, id: str, param: str) -> StoredResponse:
    found = gateway.responses.find(id, person.account) if gateway.responses is not None else None
    if found is None:
        text = f"there is no response '{id[:100]}'"
        raise Refusal(404, text, "it was not stored, or belongs to another key", "response_not_found", param=param)
    return found


def _before(gateway: Gateway, person: Person, previous: str) -> Messages:
    """Return the earlier requests and answers, the oldest first. Raises Refusal if one is not stored here."""
    parts = list[Messages]()
    while previous and len(parts) < MAX_CHAIN:
        found = _stored(gateway, person, previous, "previous_response_id")
        parts.append([*map(restored, msgspec.json.decode(found.asked)), _answer_of(found)])
        previous = found.previous
    return [message for part in reversed(parts) for message in part]


def _answer_of(found: StoredResponse) -> Message:
    last = msgspec.json.decode(found.resource)["output"][-1]
    if last["type"] == "function_call":
        return Message("assistant", "", {last["call_id"]: Call(last["name"], last["arguments"])})
    return Message("assistant", last["content"][0]["text"])


def _keeper(gateway: Gateway, person: Person, wanted: ResponseRequest, asked: Messages) -> Keep:
    def keep(resource: dict[str, Any]) -> None:
        assert gateway.responses is not None
        if resource["status"] == "failed":  # there is nothing to go on from
            return
        previous, raw = wanted.previous_response_id or "", as_json.encoded(resource)
        messages = as_json.encoded([stored(each) for each in asked])
        try:
            gateway.responses.put(StoredResponse(resource["id"], person.account, previous, messages, raw))
        except sqlite3.Error as error:
            text = f"the response cannot be stored: {error}"
            raise Refusal(507, text, "make room on the device, or ask with store: false", "not_stored") from error

    return keep


def _forget(_: dict[str, Any]) -> None:
    """Do nothing: the response is not stored."""


async def _response(gateway: Gateway, answer: Answer, resource: Resource, base: str, keep: Keep) -> Response:
    done = await answer.done()
    value = resource.ended(done, await gateway.citations(done, answer, base) if resource.is_cited else [])
    keep(value)
    return json_response(value)
