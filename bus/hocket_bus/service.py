"""A daemon as a service: ready once it has answered itself, alive for as long as it goes on doing so.

A sign of life needs all of it: the loop of the bus connects anew to the daemon's own endpoint, the authentication lets
it in, the server answers, and the main loop takes note.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from .errors import HocketError
from .notify import notify, reloading, watchdog_s
from .sockets import Bus, Server

SIGNS = 3  # of life in the time after which the service manager would give up

log = structlog.get_logger(__name__)


class Service:
    """Reports of a daemon's state to the log and the service manager. Everything runs on the daemon's main loop."""

    def __init__(self, bus: Bus, server: Server, post: Callable[[Callable[[], None]], None]) -> None:
        """Keep what to report on; `post` runs a callable on the main loop."""
        self.ready = False
        self._bus = bus
        self._server = server
        self._post = post

    def watch(self, **facts: str | int) -> None:
        """Begin self-checks once everything is loaded; ready after the first answer, when `facts` are logged."""
        self._bus.probe(self._server, watchdog_s() / SIGNS, lambda: self._post(lambda: self._alive(facts)))

    def reload(self) -> None:
        """Read again which machines may connect; if the file cannot be read, the present ones still may."""
        reloading()
        try:
            self._bus.reload_keys()
            log.info("keys read again")
        except HocketError as error:
            log.warning("keys not read again", reason=str(error))
        if self.ready:
            notify(READY=1)

    def stopping(self, text: str) -> None:
        """Report that the daemon is ending; `systemctl status` shows `text` meanwhile."""
        log.info("stopping", what=text)
        notify(STOPPING=1, STATUS=text)

    def _alive(self, facts: dict[str, str | int]) -> None:
        if not self.ready:
            self.ready = True
            log.info("ready", **facts)
            notify(READY=1, STATUS=f"listening at {self._server.endpoint}")
        notify(WATCHDOG=1)
