"""Removal of slashes at the end of a path: clients build addresses from parts, and may add some."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send


class Unslashed:
    """Middleware that strips trailing slashes. A redirect would lose the body if a client does not follow it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with the shortened path."""
        if scope["type"] == "http" and scope["path"].endswith("/"):
            scope = {**scope, "path": scope["path"].rstrip("/") or "/"}
        await self._app(scope, receive, send)
