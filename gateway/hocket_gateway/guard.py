"""Who is let in: requests for a name of this machine's, from no strange web page, with the key of a person.

A page of another site may let its name resolve to this machine (DNS rebinding), and a browser asks wherever a page
says. `Host` tells the first, `Origin` the second.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from hocket_bus.endpoints import ANY

from .guesses import Guesses
from .people import People, Person
from .refusals import Refusal
from .settings import LOOPBACK, ServeSettings

OPEN = ("/", "/health", "/openapi.json")  # what tells nothing but that hocket is here
PAGE = "/page/"  # nor do the files of the page


class Guard:
    """Around the whole application."""

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self._app = app
        named = {settings.host, *settings.names} - {ANY, ""}
        self._names = {*LOOPBACK, *(name.lower() for name in named)}
        self._origins = {origin.rstrip("/").lower() for origin in settings.origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises nothing: who is not let in gets the API's own error."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check(Headers(scope=scope))
        except Refusal as refusal:
            await refusal.response(scope["path"])(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _check(self, headers: Headers) -> None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or _name_of(hosts[0]) not in self._names:
            shown = ", ".join(hosts)[:100]
            raise Refusal(403, f"'{shown}' is no name of this gateway", "add it to names in serve.toml", "bad_host")
        if not all(self._lets_in(origin.lower()) for origin in origins):
            shown = ", ".join(origins)[:100]
            raise Refusal(403, f"the page {shown} may not ask", "add it to origins in serve.toml", "bad_origin")

    def _lets_in(self, origin: str) -> bool:
        """Whether a page is the gateway's own, or one of those that are named."""
        if origin in self._origins:
            return True
        scheme, _, host = origin.partition("://")
        return scheme in ("http", "https") and _name_of(host) in self._names


def _name_of(host: str) -> str:
    """The host without its port, in lower case; empty where it is none."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return ""
    return (parts.hostname or "") if parts.netloc == host and "@" not in host else ""


def _is_open(path: str) -> bool:
    return path in OPEN or path.startswith(PAGE)


class PersonGuard:
    """Finds whose request it is, by its bearer key; `request.state.person` has it."""

    def __init__(self, app: ASGIApp, people: People) -> None:
        self._app = app
        self._people = people
        self._guesses = Guesses()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises nothing, as above."""
        if scope["type"] != "http" or _is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        try:
            scope.setdefault("state", {})["person"] = self._person(Headers(scope=scope), (scope["client"] or ("",))[0])
        except Refusal as refusal:
            await refusal.response(scope["path"])(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _person(self, headers: Headers, address: str) -> Person:
        scheme, _, key = headers.get("authorization", "").partition(" ")
        key = key.strip() if scheme.lower() == "bearer" else ""
        try:
            return self._people.of(key)
        except Refusal as refusal:
            if key and refusal.status == 401:
                self._guesses.count(address)
            raise
