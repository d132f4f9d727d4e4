"""The application: its paths, access control, and the format of every error."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Match, Route

from hocket_bus.errors import HocketError

from .access.guard import PAGE, Guard, PersonGuard
from .access.people import people_of
from .answers.composing import composing
from .gateway import Gateway
from .hocket_api import documents, overview, owning
from .hocket_api.chat_page import ChatPage
from .hocket_api.markdown import markdown
from .hocket_api.mcp_endpoint import McpEndpoint
from .http.refusals import Refusal
from .http.slashes import Unslashed
from .ollama_api import embed, listing, talk
from .openai_api import catalogue, chat, completions, embeddings, open_responses
from .openapi import openapi
from .settings import ServeSettings

log = structlog.get_logger(__name__)


def application(settings: ServeSettings) -> Starlette:
    """Return the gateway as an ASGI application."""
    people = people_of(settings)
    tools = McpEndpoint(settings.max_body_bytes)

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        app.state.gateway = Gateway(settings, people)
        async with tools.manager.run():
            yield
        await app.state.gateway.close()

    return Starlette(
        routes=_routes(tools),
        middleware=[
            Middleware(Unslashed),
            Middleware(Guard, settings=settings, people=people),
            Middleware(
                CORSMiddleware,
                allow_origins=settings.origins,
                allow_methods=["GET", "POST", "PUT", "DELETE"],
                allow_headers=["*"],  # OpenAI's package for browsers has many of its own
            ),
            Middleware(PersonGuard, people=people),
        ],
        exception_handlers={Refusal: _refused, HocketError: _failed, HTTPException: _no_such, Exception: _broken},
        lifespan=life,
    )


def _routes(tools: McpEndpoint) -> list[Route]:
    page = ChatPage()
    return [
        Route("/", page.index),
        Route(f"{PAGE}{{name:path}}", page.file),
        Route("/health", _here),
        Route("/openapi.json", openapi),
        Route("/status", overview.status),
        Route("/link", owning.link, methods=["POST"]),
        Route("/explanations/{number}", owning.explanation),
        Route("/account", owning.account),
        Route("/composing", composing, methods=["POST"]),
        Route("/markdown", markdown, methods=["POST"]),
        Route("/documents", documents.listing),
        Route("/documents/{name:path}", documents.text),
        Route("/documents/{name:path}", documents.add, methods=["PUT"]),
        Route("/documents/{name:path}", documents.remove, methods=["DELETE"]),
        Route("/skipped", documents.skipped),
        Route("/watched", documents.watched),
        Route("/watched/{name:path}", documents.watch, methods=["PUT"]),
        Route("/watched/{name:path}", documents.unwatch, methods=["DELETE"]),
        Route("/mcp", tools),
        Route("/v1/models", catalogue.models),
        Route("/v1/models/{name:path}", catalogue.model),
        Route("/v1/chat/completions", chat.chat_completions, methods=["POST"]),
        Route("/v1/completions", completions.completions, methods=["POST"]),
        Route("/v1/embeddings", embeddings.embeddings, methods=["POST"]),
        Route("/v1/responses", open_responses.create, methods=["POST"]),
        Route("/v1/responses/{id}", open_responses.retrieve),
        Route("/v1/responses/{id}", open_responses.delete, methods=["DELETE"]),
        Route("/v1/responses/{id}/cancel", open_responses.cancel, methods=["POST"]),
        Route("/api/version", listing.version),
        Route("/api/tags", listing.tags),
        Route("/api/ps", listing.running),
        Route("/api/show", listing.show, methods=["POST"]),
        Route("/api/chat", talk.chat, methods=["POST"]),
        Route("/api/generate", talk.generate, methods=["POST"]),
        Route("/api/embed", embed.embed, methods=["POST"]),
        Route("/api/embeddings", embed.older, methods=["POST"]),
    ]


async def _here(_: Request) -> Response:
    return PlainTextResponse("hocket is running\n")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return error.response(request.url.path)


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, HocketError)
    return Refusal.of(error).response(request.url.path)


async def _no_such(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    what, path = f"{request.method} {request.url.path[:200]}", request.url.path
    if error.status_code == 405:
        allowed = _methods(request)
        refusal = Refusal(405, f"{what} is not supported", f"use {' or '.join(allowed)}", "method_not_allowed")
        response = refusal.response(path)
        response.headers["allow"] = ", ".join(allowed)
        return response
    text = f"{what} is not supported" if error.status_code == 404 else error.detail
    return Refusal(error.status_code, text, "see /openapi.json", "unknown_path").response(path)


def _methods(request: Request) -> list[str]:
    """Return the methods that a path has."""
    routes = [route for route in request.app.routes if route.matches(request.scope)[0] != Match.NONE]
    return sorted({method for route in routes for method in route.methods or ()} - {"HEAD"})


async def _broken(request: Request, error: Exception) -> Response:
    log.error("a request failed", path=request.url.path[:200], exc_info=error)
    return Refusal(500, "the gateway failed", "see its log", "internal").response(request.url.path)
