"""The chat page at `/`: its files, which are read once, and the security policy that browsers apply to them."""

from __future__ import annotations

from importlib.resources import files
from pathlib import PurePath

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

INDEX = "index.html"
TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
POLICY = (  # what is not the gateway's own is neither loaded nor asked
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


class ChatPage:
    """A server of the files in `page/`, by name and not by path: any other name is not found."""

    def __init__(self) -> None:
        self._files = {
            path.name: (path.read_bytes(), TYPES[PurePath(path.name).suffix])
            for path in (files("hocket_gateway") / "page").iterdir()
        }

    async def index(self, _: Request) -> Response:
        """Return the page itself."""
        return self._response(INDEX)

    async def file(self, request: Request) -> Response:
        """Return one of the page's files. Raises HTTPException."""
        return self._response(request.path_params["name"])

    def _response(self, name: str) -> Response:
        if name not in self._files:
            raise HTTPException(404)
        content, kind = self._files[name]
        return Response(content, headers=HEADERS, media_type=kind)
