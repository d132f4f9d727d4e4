"""Documents as resources of the Model Context Protocol, and its prompts, which hosts offer as commands.

A resource is a document of this device by its whole name, as text. They are listed a page at a time, like `/documents`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any
from urllib.parse import quote

from mcp.server import MCPServer
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.prompts.base import Message, UserMessage
from mcp.server.mcpserver.resources.templates import ResourceSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    EmbeddedResource,
    ListResourcesResult,
    Resource,
    TextResourceContents,
)
from pydantic import Field

from hocket_bus.errors import BadRequest, HocketError

from ..http.refusals import Refusal
from .mcp_tools import Question, asking, document_text, title_of

TEMPLATE = "hocket://device/{name}"
ENCODED = ResourceSecurity(exempt_params={"name"})  # a name of the store, which no file is opened by
TEXT = "text/plain"

Document = Annotated[str, Field(description="The document's name, as `documents` and `search` give it.")]


def add_resources(server: MCPServer[Any]) -> None:
    """Offer this device's documents as resources."""
    about = "A document of this device as text; nothing is sent to the cloud."
    server.resource(TEMPLATE, name="document", description=about, mime_type=TEXT, security=ENCODED)(document)
    server.middleware.append(_list_documents)


def add_prompts(server: MCPServer[Any]) -> None:
    """Offer the prompts."""
    for prompt in (answer_from_documents, summarize_document):
        server.prompt(description=prompt.__doc__)(prompt)


async def document(name: str, context: Context[Any]) -> str:
    """Read a document of this device. Raises MCPError."""
    _, gateway, person = asking(context)
    with _protocol_errors():
        _, text, is_whole = await document_text(gateway, person, name)
    return text if is_whole else f"{text}\n\n[The document is longer than that.]"


def answer_from_documents(question: Question) -> str:
    """Answer a question from the documents of this device, and name those that the answer is from."""
    return (
        f"{question}\n\nAnswer from my documents alone. Find passages with `search`; where they are not enough, read a "
        "whole document with `fetch`. Behind each statement name the document that it is from. If nothing was found "
        "that answers the question, say so."
    )


async def summarize_document(name: Document, context: Context[Any]) -> list[Message]:
    """Summarize a document of this device."""
    contents = TextResourceContents(uri=uri_of(name), mime_type=TEXT, text=await document(name, context))
    return [
        UserMessage(EmbeddedResource(type="resource", resource=contents)),
        UserMessage("Summarize this document in at most five sentences. Keep names, dates and numbers as they stand."),
    ]


def uri_of(name: str) -> str:
    """Return the URI of a document."""
    return TEMPLATE.format(name=quote(name, safe=""))


async def _list_documents(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answer `resources/list`: the SDK's own list is the same for all who ask. Raises MCPError."""
    if ctx.method != "resources/list":
        return await call_next(ctx)
    _, gateway, person = asking(ctx)
    cursor = (ctx.params or {}).get("cursor") or "0"
    if not (isinstance(cursor, str) and cursor.isdecimal() and len(cursor) < 10):
        raise MCPError(code=INVALID_PARAMS, message="this is not a cursor of resources/list: leave it out to begin")
    with _protocol_errors():
        listed, following = await gateway.listed(person, int(cursor))
    resources = [
        Resource(uri=uri_of(each.name), name=each.name, title=title_of(each.name, each.title), mime_type=TEXT)
        for each in listed
    ]
    return ListResourcesResult(resources=resources, next_cursor=None if following is None else str(following))


@contextmanager
def _protocol_errors() -> Iterator[None]:
    """Report a refusal or an error as the protocol does. Raises MCPError."""
    try:
        yield
    except (Refusal, HocketError) as error:
        code = INVALID_PARAMS if isinstance(error, Refusal | BadRequest) else INTERNAL_ERROR
        raise MCPError(code=code, message=str(error)) from error
