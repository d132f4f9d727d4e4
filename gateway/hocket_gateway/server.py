"""The process of `hocket serve`: it listens, reports that it is ready, and lets requests complete as it ends."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import time
from pathlib import Path

import h11
import structlog
import uvicorn
from uvicorn.protocols.http.flow_control import service_unavailable
from uvicorn.protocols.http.h11_impl import H11Protocol

from hocket_bus import as_json
from hocket_bus.ending import Ending
from hocket_bus.errors import BadConfiguration
from hocket_bus.log import BoundedRecords
from hocket_bus.notify import notify, watchdog_s
from hocket_bus.service import SIGNS
from hocket_bus.trust.unseen import close_daemon

from .access.guard import PEER
from .access.peer_uid import ConnectionPeer
from .access.people import People
from .app import application
from .http.refusals import PRIVATE, Refusal
from .http.strict_http import StrictConnection
from .settings import LOOPBACK, ServeSettings

MAX_CONNECTIONS = 512  # more get 503, where no connection can give way
MAX_REQUESTS = 4_096  # in work, those whose connection has gone included: their ends take a moment
MAX_HEAD_BYTES = 64 << 10
HEAD_S = 20.0  # also how long a client may leave what is sent to it unread
DRAIN_S = 10  # what answers in work have at the end
LONGEST_SILENCE_S = 3_600.0

log = structlog.get_logger(__name__)


def run(settings: ServeSettings) -> None:
    """Serve until SIGTERM or Ctrl-C. Raises BadConfiguration."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # uvicorn takes the first two, and raises them again at its end
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")  # else the SDK of /mcp chooses
    for handler in logging.getLogger().handlers:
        handler.addFilter(BoundedRecords())
    people = People(Path(settings.people) if settings.people else None)
    with listener(settings, people) as sock:
        serving = server(settings)
        serving.ending = Ending()
        close_daemon()
        serving.run(sockets=[sock])


class TimedProtocol(H11Protocol):
    """A connection with time limits for the client: to send a whole request, and to read what was sent.

    uvicorn waits without an end for both. If all connections are taken, the one that has waited longest for a whole
    request gives way to a new one. A malformed request is answered like any other refusal.
    """

    conn: h11.Connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Begin as uvicorn does, with time limits; if all connections are taken, end the one that waits longest."""
        if len(self.connections) >= MAX_CONNECTIONS - 1:
            asking = (each for each in self.connections if isinstance(each, TimedProtocol) and each.is_asking)
            if oldest := min(asking, key=_began, default=None):
                oldest.transport.abort()
        super().connection_made(transport)
        self.conn = StrictConnection(h11.SERVER, MAX_HEAD_BYTES)
        self.app_state = self.app_state | {PEER: ConnectionPeer(self.client, self.server)}
        self.began_s = self.loop.time()
        self._next = self.loop.call_later(HEAD_S, self._look, None, 0)

    def handle_events(self) -> None:
        """Handle events as uvicorn does, but limit open connections: uvicorn also counts requests of closed ones."""
        self.app = self.config.loaded_app if len(self.connections) < MAX_CONNECTIONS else service_unavailable
        super().handle_events()

    def connection_lost(self, exc: Exception | None) -> None:
        """End as uvicorn does, and stop the timer."""
        self._next.cancel()  # it would keep the connection in memory
        super().connection_lost(exc)

    def send_400_response(self, _: str) -> None:
        """Answer a malformed request with a Refusal, and close the connection."""
        refusal = Refusal(400, "this is not a valid HTTP request", "send a request with a single length", "bad_request")
        body = as_json.encoded(refusal.openai())
        headers = [*PRIVATE.items(), ("content-type", "application/json"), ("content-length", str(len(body)))]
        response = h11.Response(status_code=400, headers=[*headers, ("connection", "close")], reason=b"Bad Request")
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    @property
    def is_asking(self) -> bool:
        """Tell whether a request is incomplete, or not begun, and nothing is on its way to the client."""
        is_whole = not self._has_no_request and not self.cycle.more_body
        return not (is_whole or self.transport.is_closing() or self.transport.get_write_buffer_size())

    @property
    def _has_no_request(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _look(self, last: object, unread: int) -> None:
        """End the connection if nothing has changed since the last look, at the request `last` with `unread` bytes."""
        left = self.transport.get_write_buffer_size()
        if left == unread if left else (self._has_no_request and self.cycle is last):
            self.transport.abort()
        elif left or not self.transport.is_closing():
            self._next = self.loop.call_later(HEAD_S, self._look, self.cycle, left)


def _began(connection: TimedProtocol) -> float:
    return connection.began_s


class GatewayServer(uvicorn.Server):
    """A uvicorn server that tells the service manager when it listens, and when it ends."""

    ending: Ending | None = None  # of a process that is this server's

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, and report that the server is ready."""
        await super().startup(sockets)
        if self.started:
            log.info("ready", at=[f"{at[0]}:{at[1]}" for at in (sock.getsockname() for sock in sockets or [])])
            notify(READY=1, STATUS="listening")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop as uvicorn does, after reporting it, with DRAIN_S for answers in work."""
        log.info("stopping")
        notify(STOPPING=1)
        if self.ending:
            self.ending.by(time.monotonic() + DRAIN_S)
        await super().shutdown(sockets)


def listener(settings: ServeSettings, people: People) -> socket.socket:
    """Bind the listening socket. Raises BadConfiguration if that fails, or if strangers could ask without a key."""
    if settings.host not in LOOPBACK and not people.are_asked_for_keys:
        text = f"{settings.host} can be reached from other machines, and there are no keys"
        raise BadConfiguration(text, "make one: hocket serve keys new NAME; or leave out --host")
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=128)
    except OSError as error:
        text = f"cannot listen at {settings.host}, port {settings.port}: {error.strerror or error}"
        raise BadConfiguration(text, "stop what uses it, or choose another --port") from error


def server(settings: ServeSettings) -> GatewayServer:
    """Return the server, for a socket of `listener`."""
    config = uvicorn.Config(
        application(settings),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        http=TimedProtocol,
        lifespan="on",
        limit_concurrency=MAX_REQUESTS,
        timeout_graceful_shutdown=DRAIN_S,
        callback_notify=_alive,
        timeout_notify=int(min(watchdog_s() / SIGNS, LONGEST_SILENCE_S)),
    )
    return GatewayServer(config)


async def _alive() -> None:
    notify(WATCHDOG=1)
