"""A daemon's check of itself: repeated fresh connections to its own server, including authentication."""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog
import zmq

from hocket_bus.endpoints import from_here
from hocket_bus.errors import BadMessage, HocketError
from hocket_bus.messages import Hello, Welcome
from hocket_bus.trust.keys import SELF
from hocket_bus.wire import decode, encode

from .loop import Loop

ANSWER_S = 3.0

log = structlog.get_logger(__name__)


class Probe:
    """A port that greets over a new connection every `every_s`, and calls `answered` in the loop at each Welcome."""

    def __init__(self, loop: Loop, endpoint: str, every_s: float, answered: Callable[[], None]) -> None:
        self.due_s = 0.0
        self._loop = loop
        self._endpoint = from_here(endpoint)
        self._every_s = every_s
        self._answered = answered
        self._socket: zmq.Socket[bytes] | None = None

    def start(self) -> None:
        """Do nothing: the first `tick` makes the first connection."""

    def tick(self, now: float) -> None:
        """Greet when it is time, or when the last greeting was not answered."""
        if now < self.due_s:
            return
        if self._socket is not None:
            log.warning("this daemon does not answer itself", endpoint=self._endpoint, waited_s=ANSWER_S)
            self._hang_up()
        self.due_s = now + ANSWER_S
        try:
            self._greet()
        except (HocketError, zmq.ZMQError) as error:  # no descriptor is left, say: this look failed, and no turn
            log.warning("this daemon cannot look at itself", endpoint=self._endpoint, error=str(error))
            self._hang_up()

    def on_wake(self) -> None:
        """Do nothing: the next check is due anyway."""

    def on_close(self) -> None:
        """Do nothing: a probe holds nothing but its socket."""

    def _greet(self) -> None:
        sockets = self._loop.sockets
        keys = sockets.load_keys(self._endpoint)
        self._socket = sockets.open(zmq.DEALER, self._endpoint, {}, None if keys is None else keys.own.public)
        sockets.watch(self._socket, self._on_frames)
        self._socket.connect(self._endpoint)
        self._socket.send_multipart(encode(Hello(role="client", name=SELF)), zmq.NOBLOCK)

    def _on_frames(self, frames: list[bytes]) -> None:
        try:
            welcome = isinstance(decode(frames), Welcome)
        except BadMessage:
            welcome = False
        if welcome:
            self._hang_up()
            self.due_s = time.monotonic() + self._every_s
            self._answered()

    def _hang_up(self) -> None:
        if self._socket is not None:
            self._loop.sockets.drop(self._socket)
            self._socket = None
