"""Access control of requests: by host name, by web page of origin, and by a person's key or the process's user.

Requests must name a host of this machine's and come from no foreign web page. They need the key of a person or, where
no keys are required, come from a process of the gateway's own user.

A page of another site may let its name resolve to this machine (DNS rebinding), and a browser asks wherever a page
says. `Host` reveals the first, `Origin` the second. Whatever is answered, a browser shows it to the gateway's own pages
only.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hocket_bus.endpoints import ANY

from ..http.in_flight import InFlight
from ..http.refusals import PRIVATE, Refusal
from ..settings import LOOPBACK, ServeSettings
from .guesses import Guesses
from .peer_uid import ConnectionPeer, is_owner
from .people import People, Person

OPEN = ("/", "/health", "/openapi.json")  # what tells nothing but that hocket is here
PAGE = "/page/"  # nor do the files of the page
PEER = "peer"  # what a connection's state calls its other end
CHANGES_NOTHING = ("GET", "HEAD", "OPTIONS")


class Guard:
    """Middleware around the whole application: it checks host, origin and, where no keys are required, the user."""

    def __init__(self, app: ASGIApp, settings: ServeSettings, people: People) -> None:
        self._app = app
        self._people = people
        self._in_flight = InFlight()
        named = {settings.host, *settings.names} - {ANY, ""}
        self._names = {*LOOPBACK, *(name.lower() for name in named)}
        self._origins = {origin.rstrip("/").lower() for origin in settings.origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check and pass on a request. Raises nothing: a refused client gets the API's own error."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_private(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in PRIVATE.items():
                    if not (name in headers and _is_of_page(scope["path"])):
                        headers[name] = value
            await send(message)

        try:
            self._check_owner(scope)
            self._check(Headers(scope=scope), scope["method"])
        except Refusal as refusal:
            await refusal.response(scope["path"])(scope, receive, send)
        else:
            with self._in_flight.answer(send_private, scope["path"]) as sent:
                await self._app(scope, receive, sent)

    def _check_owner(self, scope: Scope) -> None:
        """Check a client without keys, who has all rights of the gateway's user: only that user and root are let in."""
        if self._people.are_asked_for_keys:
            return
        state = scope.get("state") or {}
        peer: ConnectionPeer = state.get(PEER) or ConnectionPeer(scope["client"], scope["server"])
        if not is_owner(peer.uid):
            text = "without a key this gateway answers only its own user, on this machine"
            raise Refusal(403, text, "let that user make one: hocket serve keys new NAME", "not_the_owner")

    def _check(self, headers: Headers, method: str) -> None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or _name_of(hosts[0]) not in self._names:
            shown = ", ".join(hosts)[:100]
            raise Refusal(
                403, f"'{shown}' is not a host name of this gateway", "add it to names in serve.toml", "bad_host"
            )
        may_ask = self._may_read if method in CHANGES_NOTHING else self._may_change
        if not all(may_ask(origin.lower(), hosts[0].lower()) for origin in origins):
            shown = ", ".join(origins)[:100]
            raise Refusal(
                403, f"the page {shown} may not use this gateway", "add it to origins in serve.toml", "bad_origin"
            )

    def _may_read(self, origin: str, _: str) -> bool:
        """Tell whether a page has a name of this machine, or is in `origins`: only the latter see answers."""
        scheme, _, host = origin.partition("://")
        return origin in self._origins or (scheme in ("http", "https") and _name_of(host) in self._names)

    def _may_change(self, origin: str, host: str) -> bool:
        """Tell whether a page is the gateway's own, or in `origins`: another port is another program."""
        return origin in self._origins or origin in (f"http://{host}", f"https://{host}")


def _name_of(host: str) -> str:
    """Return the host without its port, in lower case; empty if it is malformed."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return ""
    return (parts.hostname or "") if parts.netloc == host and "@" not in host else ""


def _is_open(path: str) -> bool:
    return path in OPEN or path.startswith(PAGE)


def _is_of_page(path: str) -> bool:
    return path == "/" or path.startswith(PAGE)


class PersonGuard:
    """Middleware that finds the person of a request by its bearer key, and sets `request.state.person`."""

    def __init__(self, app: ASGIApp, people: People) -> None:
        self._app = app
        self._people = people
        self._guesses = Guesses()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Identify the person and pass on the request. Raises nothing: a refused client gets the API's own error."""
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
