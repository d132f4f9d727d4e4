"""Documents over HTTP: listed, shown, added, forgotten, and what was not read. A person has those of its folders.

An uploaded document is stored as a file in the person's own folder of uploads, and read there like any other.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hocket_bus.errors import BadRequest, HocketError
from hocket_bus.messages import DocumentText, Ingested, Progress

from ..access.people import Person
from ..answers.shapes import sse
from ..gateway import Gateway
from ..http.refusals import Refusal
from ..http.sending import EventStream, json_response, whole
from ..library.readings import Reply
from .owning import is_owner, owned

HEADERS = {  # of a text that anybody may have written
    "content-security-policy": "default-src 'none'; sandbox",
    "referrer-policy": "no-referrer",
}
MAX_OFFSET = 1 << 31
EVENTS = "text/event-stream"


async def listing(request: Request) -> Response:
    """List a page of this device's documents that the person may read. Raises Refusal, HocketError."""
    gateway, person = _asking(request)
    listed, following = await gateway.listed(person, _offset(request))
    named = [
        {
            "name": each.name,
            "title": each.title,
            "passages": each.chunks,
            "removable": gateway.uploads.may_remove(person, each.name),
        }
        for each in listed
    ]
    may = {"uploads": gateway.uploads.may_add(person), "watching": is_owner(person) and gateway.watching.is_on}
    return json_response({"documents": named, "next": following, **may})


async def skipped(request: Request) -> Response:
    """List a page of what was not read, and why. Raises Refusal, HocketError."""
    gateway, person = _asking(request)
    offset = _offset(request)
    async with gateway.turns.turn(person.account):
        page = await gateway.documents.skipped(offset)
    found = [{"name": each.name, "why": each.reason} for each in page.files if person.may_read(each.name)]
    following = offset + len(page.files)
    return json_response({"skipped": found, "next": following if page.files and following < page.total else None})


async def text(request: Request) -> Response:
    """Return a document's text as it was read. Raises Refusal, or what keeps it from being read."""
    gateway, person = _asking(request)
    name = request.path_params["name"]
    if not person.may_read(name):
        raise Refusal(403, "this key may not read that document", "it may read only its own folders", "not_allowed")
    showing = pages(gateway, person, name)
    try:
        first = await anext(showing)
    except BadRequest as error:
        raise Refusal(404, error.text, error.remedy, "no_document") from error
    return StreamingResponse(_behind(first, showing), media_type="text/plain", headers=HEADERS)


async def pages(gateway: Gateway, person: Person, name: str) -> AsyncGenerator[DocumentText]:
    """Yield a document page by page, with one in memory at a time. Raises Refusal, HocketError."""
    with gateway.in_flight.document(person.account):
        chars, total = 0, 1
        while chars < total:
            async with gateway.turns.turn(person.account):
                page = await gateway.documents.page(name, chars)
            yield page
            chars, total = chars + len(page.text), page.total if page.text else 0


async def _behind(first: DocumentText, rest: AsyncGenerator[DocumentText]) -> AsyncGenerator[str]:
    async with aclosing(rest):
        yield first.text
        async for page in rest:
            yield page.text


async def add(request: Request) -> Response:
    """Store the body as a file of this name and read it; return events if the client accepts them. Raises Refusal."""
    gateway, person = _asking(request)
    gateway.uploads.enter(person)
    try:
        uploaded = await gateway.uploads.keep(person, request.path_params["name"], request)
    except BaseException:
        gateway.uploads.leave(person)
        raise

    ingesting = gateway.documents.ingest([str(uploaded.path)])
    reading = gateway.readings.start(ingesting, uploaded, lambda: gateway.uploads.leave(person))
    if EVENTS in request.headers.get("accept", ""):
        return EventStream(_events(reading, uploaded.path), lambda: None)
    return await whole(request, _added(reading, uploaded.path), lambda: None)


async def remove(request: Request) -> Response:
    """Forget a document, and delete its file if it was uploaded here. Raises Refusal, HocketError."""
    gateway, person = _asking(request)
    name = request.path_params["name"]
    if not gateway.uploads.may_remove(person, name):
        raise Refusal(
            403, "this key may not remove that document", "it may remove only files that it sent", "not_allowed"
        )
    removed = await gateway.removals.remove(name)
    if removed is None:
        return json_response({"name": name, "deleted": False, "going_on": True}, 202)
    if removed.missing:
        raise Refusal(404, f"there is no document '{name[:200]}'", "see: hocket documents --side device", "no_document")
    return json_response({"name": name, "deleted": True})


async def watched(request: Request) -> Response:
    """List the folders that are read at every change, and their progress. Raises Refusal."""
    return json_response({"folders": owned(request).watching.shown()})


async def watch(request: Request) -> Response:
    """Read a folder of this device now, and at every change from now on. Raises Refusal."""
    gateway = owned(request)
    await gateway.watching.add(_folder(request))
    return json_response({"folders": gateway.watching.shown()})


async def unwatch(request: Request) -> Response:
    """Read a folder at no further change; its documents stay. Raises Refusal."""
    gateway = owned(request)
    await gateway.watching.drop(_folder(request))
    return json_response({"folders": gateway.watching.shown()})


async def _added(reading: AsyncGenerator[Reply], file: Path) -> Response:
    async with aclosing(reading):
        async for reply in reading:
            if isinstance(reply, Ingested):
                return json_response(_outcome(reply, file))
    raise AssertionError("an ingestion ends with its result, or raises")


async def _events(reading: AsyncGenerator[Reply], file: Path) -> AsyncGenerator[bytes]:
    try:
        async with aclosing(reading):
            async for reply in reading:
                yield sse(_progress(reply) if isinstance(reply, Progress) else _outcome(reply, file))
    except (Refusal, HocketError) as error:
        refusal = error if isinstance(error, Refusal) else Refusal.of(error)
        yield sse(refusal.openai())


def _outcome(ingested: Ingested, file: Path) -> dict[str, Any]:
    """Return the result for the file. Raises Refusal if it was not read; it is not stored then."""
    if ingested.failures:
        raise Refusal(422, ingested.failures[0], "send another file", "not_read")
    done = "added" if ingested.added else "replaced" if ingested.replaced else "unchanged"
    return {"name": str(file), "outcome": done, "passages": ingested.chunks, "notices": ingested.notices}


def _progress(progress: Progress) -> dict[str, Any]:
    return {
        "progress": {"passages": progress.chunks_done, "of": progress.chunks_total, "left_s": progress.left_s},
        "waiting": progress.waiting,
    }


def _offset(request: Request) -> int:
    """Return the offset in the query. Raises Refusal."""
    offset = request.query_params.get("offset", "0")
    if not (offset.isdecimal() and int(offset[:20]) < MAX_OFFSET):
        raise Refusal(400, "offset must be a number of documents", "leave it out for the first ones", param="offset")
    return int(offset)


def _folder(request: Request) -> str:
    """Return the folder's absolute path: its first slash is the one after `/watched`."""
    return "/" + str(request.path_params["name"]).lstrip("/")


def _asking(request: Request) -> tuple[Gateway, Person]:
    return request.app.state.gateway, request.state.person
