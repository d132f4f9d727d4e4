"""Tools of the Model Context Protocol: ask, search, fetch, documents and status.

Hosts that research by themselves expect search and fetch, and `results` of the one that the other takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Annotated, Any

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field
from starlette.requests import Request

from hocket_bus import as_json
from hocket_bus.errors import HocketError
from hocket_bus.messages import Passage
from hocket_client import Options

from ..access.people import Person
from ..answers.citations import document_url
from ..answers.ways import WAYS, way_named
from ..gateway import Gateway
from ..http.refusals import Refusal
from .documents import pages

ALONE = next(way.id for way in WAYS if way.alone)
MAX_PASSAGES = 32
MAX_CHARS = 200_000  # of a document, as one result

Question = Annotated[str, Field(description="The question, in whole sentences.")]
Model = Annotated[
    str, Field(description=f"How to answer: {', '.join(f'{way.id} ({way.about})' for way in WAYS)}. Empty: the first.")
]
Words = Annotated[str, Field(description="What to look for.")]
Number = Annotated[int, Field(ge=1, le=MAX_PASSAGES, description="How many passages.")]
DocumentName = Annotated[str, Field(description="The id of a result of `search`: the document's name.")]
Offset = Annotated[int, Field(ge=0, description="How many documents to pass over.")]


async def ask(question: Question, context: Context[Any], model: Model = "") -> dict[str, Any]:
    """Ask device and cloud a question; the answer comes with the passages that it was made of."""
    request, gateway, person = asking(context)
    options: Options = {"messages": [{"role": "user", "content": question}]}
    with _tool_errors():
        way = way_named(model or (ALONE if person.alone_only else WAYS[0].id), alone_only=person.alone_only)
        answer = await gateway.questions.ask(person, way, options)
        try:
            done = await answer.done()
            citations = await gateway.citations(done, answer, _base(request))
        finally:
            answer.close()
    results = [citation.result() for citation in citations]
    return _result({"answer": done.text, "model": way.id, "notices": answer.notices, "sources": results})


async def search(query: Words, context: Context[Any], passages: Number = 5) -> dict[str, Any]:
    """Find passages of this device's documents, the best first. Nothing leaves the device."""
    request, gateway, person = asking(context)
    with _tool_errors():
        async with gateway.turns.turn(person.account):
            found = await gateway.documents.search(query, passages, person.folders)
    readable = [
        each for each in found if all(map(person.may_read, (each.document, *(led.document for led in each.led))))
    ]
    titles = {each.document: each.title for each in readable}  # each once, the best first
    results = [_about(request, *each) for each in titles.items()]
    return _result({"results": results, "passages": list(map(_passage, readable))})


async def fetch(id: DocumentName, context: Context[Any]) -> dict[str, Any]:
    """Read a document of this device as text, by the id that `search` gives."""
    request, gateway, person = asking(context)
    with _tool_errors():
        title, text, is_whole = await document_text(gateway, person, id)
    return _result({**_about(request, id, title), "text": text, "metadata": {"is_whole": is_whole}})


def _about(request: Request, name: str, title: str) -> dict[str, str]:
    return {"id": name, "title": title_of(name, title), "url": document_url(_base(request), name)}


def title_of(name: str, title: str) -> str:
    """Return the title of a document, or the last part of its name where it has none."""
    return title or Path(name).name


async def document_text(gateway: Gateway, person: Person, name: str) -> tuple[str, str, bool]:
    """Return a document's title, at most MAX_CHARS of its text, and whether that is all. Raises as `pages`."""
    if not person.may_read(name):
        raise Refusal(403, "this key may not read that document", "search for another one", "not_allowed")
    title = text = ""
    async with aclosing(pages(gateway, person, name)) as showing:
        async for page in showing:
            title = page.title
            text += page.text
            if len(text) > MAX_CHARS:
                break
    return title, text[:MAX_CHARS], len(text) <= MAX_CHARS


def _passage(found: Passage) -> dict[str, object]:
    """Return a passage that names every document in its text: passages of others that it leads to follow its own."""
    led = [{"document": each.document, "place": each.place} for each in found.led]
    return {name: getattr(found, name) for name in ("document", "place", "score", "text")} | {"led": led}


async def documents(context: Context[Any], offset: Offset = 0) -> dict[str, Any]:
    """List the documents of this device with their titles, by name."""
    _, gateway, person = asking(context)
    with _tool_errors():
        listed, following = await gateway.listed(person, offset)
    named = [{"id": each.name, "title": title_of(each.name, each.title)} for each in listed]
    return _result({"documents": named, "next": following})


async def status(context: Context[Any]) -> dict[str, Any]:
    """Tell which model answers, and whether the cloud is connected."""
    _, gateway, _ = asking(context)
    return _result(await gateway.behind())


def _result(record: Mapping[str, object]) -> dict[str, Any]:
    """Return a record in types that the SDK can write as JSON."""
    found: dict[str, Any] = as_json.plain(record)
    return found


@contextmanager
def _tool_errors() -> Iterator[None]:
    """Report a refusal or an error in the tool's result."""
    try:
        yield
    except (Refusal, HocketError) as error:
        raise ToolError(str(error)) from error


def _base(request: Request) -> str:
    return str(request.base_url).rstrip("/")


def asking(context: Context[Any] | ServerRequestContext[Any, Any]) -> tuple[Request, Gateway, Person]:
    """Return the HTTP request behind a call, its gateway, and who asks."""
    request = context.request_context.request if isinstance(context, Context) else context.request
    assert isinstance(request, Request)
    return request, request.app.state.gateway, request.state.person


TOOLS = (ask, search, fetch, documents, status)
