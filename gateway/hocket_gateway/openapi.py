"""The path `/openapi.json`: every path's input and output. Bodies are described by the records that decode them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from hocket_client.conversation import ROLES

from .answers.composing import ComposingRequest
from .answers.ways import LATEST, WAYS
from .hocket_api.embedding import MODEL
from .hocket_api.markdown import MarkdownRequest
from .hocket_api.owning import LinkRequest
from .http.refusals import OLLAMA
from .http.sending import json_response
from .ollama_api.embed import EmbedRequest, OlderRequest
from .ollama_api.listing import ShowRequest
from .ollama_api.talk import MessagesRequest, PromptRequest
from .openai_api.chat import ChatRequest
from .openai_api.completions import CompletionRequest
from .openai_api.embeddings import EmbeddingsRequest
from .openai_api.resource import ResponseRequest

JSON, EVENTS, LINES, PLAIN, HTML = (
    *("application/json", "text/event-stream", "application/x-ndjson"),
    *("text/plain", "text/html"),
)
ANY_BYTES = "application/octet-stream"
MODELS = [way.id + tag for tag in ("", LATEST) for way in WAYS]


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of a path: its purpose, its body's record, its answer's types, its query, and an example body."""

    method: str
    path: str
    about: str
    body: type[Struct] | type[bytes] | None = None  # bytes: whatever a file has
    gives: tuple[str, ...] = (JSON,)
    query: tuple[tuple[str, str], ...] = ()  # names, and their types
    example: Mapping[str, Any] | None = None


_SAID = {"messages": [{"role": "user", "content": "Where did I park?"}]}
_CHAT = {"model": "hocket", "max_tokens": 64, **_SAID}
_PROMPT = {"model": "hocket", "max_tokens": 64, "prompt": "I parked in"}
_INPUT = {"model": "hocket", "max_output_tokens": 64, "input": "Where did I park?"}
_OLLAMA = {"model": "hocket:latest", "options": {"num_predict": 64}}
_GENERATE = _OLLAMA | {"prompt": "Where did I park?"}
_TEXTS = {"model": MODEL, "input": ["The tank holds 300 litres."]}
_ONE_TEXT = {"model": MODEL, "prompt": "The tank holds 300 litres."}
_FOLLOW = (("stream", "boolean"), ("starting_after", "integer"))
OPERATIONS = (
    Operation("get", "/", "Serve the page for browsers.", gives=(HTML,)),
    Operation("get", "/health", "Check that the gateway runs.", gives=(PLAIN,)),
    Operation("get", "/status", "Show the state of the pair."),
    Operation("get", "/documents", "List this device's documents, page by page.", query=(("offset", "integer"),)),
    Operation("get", "/documents/{name}", "Return a document's text.", gives=(PLAIN,)),
    Operation("put", "/documents/{name}", "Store a file and ingest it.", bytes, (JSON, EVENTS)),
    Operation("delete", "/documents/{name}", "Remove a document."),
    Operation("get", "/skipped", "List skipped files with the reasons, page by page.", query=(("offset", "integer"),)),
    Operation("get", "/watched", "List the watched folders."),
    Operation("put", "/watched/{name}", "Watch a folder: ingest it now and at every change."),
    Operation("delete", "/watched/{name}", "Stop watching a folder."),
    Operation("post", "/link", "Cut or restore the link to the cloud.", LinkRequest),
    Operation("get", "/explanations/{number}", "Return the decision record of an answer."),
    Operation("get", "/account", "Return the bits that each document has disclosed, and the bounds."),
    Operation("post", "/composing", "Suggest how a text continues.", ComposingRequest, (EVENTS,)),
    Operation("post", "/markdown", "Lay out a text in Markdown as a tree.", MarkdownRequest),
    Operation("get", "/v1/models", "List the ways of answering as models."),
    Operation("get", "/v1/models/{name}", "Describe one model."),
    Operation("post", "/v1/chat/completions", "Answer a conversation.", ChatRequest, (JSON, EVENTS), (), _CHAT),
    Operation("post", "/v1/completions", "Continue a text.", CompletionRequest, (JSON, EVENTS), (), _PROMPT),
    Operation("post", "/v1/embeddings", "Embed texts.", EmbeddingsRequest, (JSON,), (), _TEXTS),
    Operation("post", "/v1/responses", "Answer an input.", ResponseRequest, (JSON, EVENTS), (), _INPUT),
    Operation("get", "/v1/responses/{id}", "Return a stored or running response.", None, (JSON, EVENTS), _FOLLOW),
    Operation("delete", "/v1/responses/{id}", "Delete a response."),
    Operation("post", "/v1/responses/{id}/cancel", "Cancel a background response."),
    Operation("get", "/api/version", "Return the version of Ollama's API."),
    Operation("get", "/api/tags", "List the ways of answering as Ollama models."),
    Operation("get", "/api/ps", "List them if the device daemon answers."),
    Operation("post", "/api/show", "Describe one model.", ShowRequest, example={"model": "hocket"}),
    Operation("post", "/api/chat", "Answer a conversation.", MessagesRequest, (JSON, LINES), (), _OLLAMA | _SAID),
    Operation("post", "/api/generate", "Answer a prompt.", PromptRequest, (JSON, LINES), (), _GENERATE),
    Operation("post", "/api/embed", "Embed texts.", EmbedRequest, (JSON,), (), _TEXTS),
    Operation("post", "/api/embeddings", "Embed one text.", OlderRequest, (JSON,), (), _ONE_TEXT),
)
_TEXT = {"type": "string"}
_SHAPES = {
    JSON: {"type": "object"},
    EVENTS: {"type": "object", "required": ["data"], "properties": {"data": _TEXT}},  # of each event
}
_NAMES = {"/v1/models/{name}": _TEXT | {"enum": MODELS}}
_ERRORS = {
    "OpenAIError": {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["message", "type", "param", "code"],
                "properties": {"message": _TEXT, "type": _TEXT}
                | {name: {"type": ["string", "null"]} for name in ("param", "code")},
            }
        },
    },
    "OllamaError": {"type": "object", "required": ["error"], "properties": {"error": _TEXT}},
}


async def openapi(_: Request) -> Response:
    """Return the whole description."""
    return json_response(description())


def description() -> dict[str, Any]:
    """Build an OpenAPI 3.1 document."""
    bodies = [each.body for each in OPERATIONS if each.body not in (None, bytes)]
    schemas, records = msgspec.json.schema_components(bodies, ref_template="#/components/schemas/{name}")
    named = dict(zip(bodies, schemas, strict=True))
    for record in records.values():
        for name, values in (("model", MODELS), ("role", list(ROLES))):
            if name in record.get("required", ()):
                record["properties"][name]["enum"] = values
    for embedding in (EmbeddingsRequest, EmbedRequest, OlderRequest):
        records[embedding.__name__]["properties"]["model"]["enum"] = [MODEL, MODEL + LATEST]
    paths: dict[str, dict[str, Any]] = {}
    for each in OPERATIONS:
        paths.setdefault(each.path, {})[each.method] = _operation(each, named)
    return {
        "openapi": "3.1.0",
        "info": {"title": "hocket", "version": version("hocket"), "license": {"name": "Apache-2.0"}},
        "paths": paths,
        "components": {
            "schemas": {**records, **_ERRORS},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


def _operation(of: Operation, named: Mapping[Any, dict[str, Any]]) -> dict[str, Any]:
    error = "OllamaError" if of.path.startswith(OLLAMA) else "OpenAIError"
    refused = {JSON: {"schema": {"$ref": f"#/components/schemas/{error}"}}}
    given = {kind: {"schema": _SHAPES.get(kind, _TEXT)} for kind in of.gives}
    made: dict[str, Any] = {
        "summary": of.about,
        "parameters": _parameters(of),
        "responses": {
            "200": {"description": "The answer.", "content": given},
            "default": {"description": "The error.", "content": refused},
        },
    }
    if of.body is bytes:
        made["requestBody"] = {"required": True, "content": {ANY_BYTES: {"schema": {}}}}
    elif of.body is not None:
        example = {"example": of.example} if of.example is not None else {}
        made["requestBody"] = {"required": True, "content": {JSON: {"schema": named[of.body], **example}}}
    return made


def _parameters(of: Operation) -> list[dict[str, Any]]:
    in_path = [part[1:-1] for part in of.path.split("/") if part.startswith("{")]
    return [
        *({"name": name, "in": "path", "required": True, "schema": _NAMES.get(of.path, _TEXT)} for name in in_path),
        *({"name": name, "in": "query", "schema": {"type": kind}} for name, kind in of.query),
    ]
