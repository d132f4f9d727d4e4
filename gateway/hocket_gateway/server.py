"""`hocket serve` as a process: listens, says that it is ready, and lets what is in work go on for a while at its end."""

from __future__ import annotations

import socket

import structlog
import uvicorn

from hocket_bus.errors import BadConfiguration
from hocket_bus.notify import notify

from .app import application
from .guard import LOOPBACK
from .people import People
from .settings import ServeSettings

MAX_CONNECTIONS = 512  # more get 503
DRAIN_S = 10  # what answers in work have at the end

log = structlog.get_logger(__name__)


class GatewayServer(uvicorn.Server):
    """Tells the service manager when it listens, and when it ends."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's."""
        await super().startup(sockets)
        if self.started:
            log.info("ready", at=[server.getsockname()[:2] for server in sockets or []])
            notify(READY=1, STATUS="listening")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's."""
        log.info("stopping")
        notify(STOPPING=1)
        await super().shutdown(sockets)


def listener(settings: ServeSettings, people: People) -> socket.socket:
    """The socket, bound. Raises BadConfiguration where it cannot be, or where strangers could ask."""
    if settings.host not in LOOPBACK and not people.are_asked_for_keys:
        text = f"{settings.host} can be reached from other machines, and there are no keys"
        raise BadConfiguration(text, "make one: hocket serve keys new NAME; or leave out --host")
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=128)
    except OSError as error:
        text = f"{settings.host}:{settings.port} cannot be listened at: {error.strerror or error}"
        raise BadConfiguration(text, "stop who does, or choose another --port") from error


def server(settings: ServeSettings) -> GatewayServer:
    """The server, which `serve` runs with a socket of `listener`."""
    config = uvicorn.Config(
        application(settings),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        http="h11",
        lifespan="on",
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=DRAIN_S,
    )
    return GatewayServer(config)
