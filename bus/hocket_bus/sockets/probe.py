"""A daemon's look at itself: a fresh connection to its own server, authentication and all, again and again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import structlog
import zmq

from hocket_bus.errors import BadMessage
from hocket_bus.messages import Hello, Welcome
from hocket_bus.wire import decode, encode

if TYPE_CHECKING:
    from .io import Bus

PATIENCE_S = 3.0

log = structlog.get_logger(__name__)


class Probe:
    """Says Hello over a new connection every `every_s`, and calls `answered` in the loop of the bus at each Welcome."""

    def __init__(self, bus: Bus, endpoint: str, every_s: float, answered: Callable[[], None]) -> None:
        self._bus = bus
        self._endpoint = endpoint
        self._every_s = every_s
        self._answered = answered
        self._due_s = 0.0
        self._socket: zmq.Socket[bytes] | None = None

    def _tick(self, now: float) -> None:
        if now < self._due_s:
            return
        if self._socket is not None:
            log.warning("this daemon does not answer itself", endpoint=self._endpoint, waited_s=PATIENCE_S)
            self._hang_up()
        self._greet(now)

    def _greet(self, now: float) -> None:
        keys = self._bus._load_keys(self._endpoint)
        server_key = None if keys is None else keys.own.public
        self._socket = self._bus._open_socket(zmq.DEALER, self._endpoint, {}, server_key)
        self._bus._watch(self._socket, self._on_frames)
        self._socket.connect(self._endpoint)
        self._socket.send_multipart(encode(Hello(role="client")), zmq.NOBLOCK)
        self._due_s = now + PATIENCE_S

    def _on_frames(self, frames: list[bytes]) -> None:
        try:
            welcome = isinstance(decode(frames), Welcome)
        except BadMessage:
            welcome = False
        if welcome:
            self._hang_up()
            self._due_s = time.monotonic() + self._every_s
            self._answered()

    def _hang_up(self) -> None:
        assert self._socket is not None
        self._bus._drop(self._socket)
        self._socket = None

    def _woke(self) -> None:
        """The next look is due anyway."""

    def _closed(self) -> None:
        """Its socket closes with the bus."""
