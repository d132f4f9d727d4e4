"""An address with a slash at its end is that without one: clients put addresses together of parts, and may add some."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send


class Unslashed:
    """Takes slashes off the end of a path. A redirect instead would lose the body where a client does not follow it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As the application behind it."""
        if scope["type"] == "http" and scope["path"].endswith("/"):
            scope = {**scope, "path": scope["path"].rstrip("/") or "/"}
        await self._app(scope, receive, send)
