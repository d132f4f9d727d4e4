"""One process's connection to a daemon: which request a message belongs to. Used by both clients."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from hocket_bus.errors import Cancelled, HocketError, ProtocolError, Unavailable
from hocket_bus.faults import error_message
from hocket_bus.messages import (
    Accepted,
    Behind,
    Cancel,
    Done,
    Error,
    Failed,
    Hello,
    Lost,
    Message,
    Notice,
    Remembered,
    Status,
    Suggestion,
    Token,
)
from hocket_bus.sockets import Bus, Event, LinkDown, LinkUp, Received

Receiver = Callable[[Message], None]
Nudge = Callable[[], list[Message]]

TAKEN = (Accepted, Error, Lost, Token, Notice, Done, Failed, Status, Behind, Suggestion, Remembered)
CLOSED = ("the client was closed", "ask with an open one")


class Connection:
    """Subscribes to a topic of its own and hands each message to the receiver of its request."""

    def __init__(self, endpoint: str, keys: Path | None) -> None:
        self.endpoint = endpoint
        self.topic = os.urandom(16)
        self._process = os.getpid()
        self._receivers: dict[bytes, Receiver] = {}
        self._nudges: dict[bytes, Nudge] = {}
        self._settled = threading.Event()  # the first attempt has succeeded, or was refused
        self._up = False
        self._refused: HocketError | None = None
        self._closed = False
        self._closing = threading.Lock()
        self._bus = Bus(self._on_event, keys)
        try:
            self._link = self._bus.dial(endpoint, Hello(role="client"), self.topic, takes=TAKEN)
        except BaseException:
            self._bus.close()
            raise

    def wait_up(self, seconds: float) -> None:
        """Wait until the daemon has answered and the subscription is live. Raises Unavailable, or why it refuses."""
        self._settled.wait(min(seconds, threading.TIMEOUT_MAX))
        if not self._up:
            silent = Unavailable(f"no daemon answers at {self.endpoint}", "start the pair: hocket up")
            raise self._refused or silent

    @property
    def is_own(self) -> bool:
        """Whether this process made it, and was not forked since: sockets and their thread stay with the parent."""
        return self._process == os.getpid()

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def check(self) -> None:
        """Raises Unavailable in a forked process, where nothing that is waited for would come."""
        if not self.is_own:
            raise Unavailable(
                f"this client is that of process {self._process}, from which this one was forked",
                "make a Client of its own in every process",
            )

    def expect(self, request: bytes, receiver: Receiver, nudge: Nudge | None = None) -> None:
        """Hand the messages of `request` to `receiver`; `nudge` tells what to send when the link is back.

        Both are called on the I/O thread, the receiver also in `close`. Raises Cancelled once that was called,
        Unavailable in a forked process.
        """
        self.check()
        self._receivers[request] = receiver
        if nudge is not None:
            self._nudges[request] = nudge
        if self._closed:  # looked at last: a close from now on finds the receiver
            self.forget(request)
            raise Cancelled(*CLOSED)

    def forget(self, request: bytes) -> None:
        """No more messages of `request`."""
        self._receivers.pop(request, None)
        self._nudges.pop(request, None)

    def leave(self, request: bytes) -> None:
        """Cancel and forget `request`; for finalizers, which run in any thread and in the middle of anything."""

        def part() -> None:
            self.forget(request)
            self.send(Cancel(request=request))

        if self.is_own and not self._closed:
            self._bus.post(part)  # never at once: on the I/O thread it might come between the frames of a message

    def send(self, *messages: Message) -> None:
        """Send to the daemon; what is sent while the link is down, or after `close`, is lost.

        Raises Unavailable in a forked process.
        """
        self.check()
        for message in messages:
            if not self._closed:
                self._link.send(message)

    def close(self) -> None:
        """Cancel what is in work, tell every receiver so and close the sockets; safe from any thread, and twice.

        In a forked process it does nothing: the connection goes on in the parent.
        """
        if not self.is_own:
            return
        with self._closing:
            self._closed = True
            asked = list(self._nudges)
            for request, receiver in self._receivers.copy().items():
                self.forget(request)
                receiver(error_message(Cancelled(*CLOSED), request))
            for request in asked:  # after that, since the daemon's answer to it would be another end
                self._link.send(Cancel(request=request))
            self._bus.close()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, LinkUp):
            self._up = True
            self._settled.set()
            for nudge in list(self._nudges.values()):
                self.send(*nudge())
        elif isinstance(event, LinkDown):
            self._up = False
            if isinstance(event.reason, ProtocolError) or event.answered:
                self._refused = event.reason
                self._settled.set()
        elif isinstance(event, Received):
            self._on_message(event.message)

    def _on_message(self, message: Message) -> None:
        if isinstance(message, TAKEN):
            receiver = self._receivers.get(message.request)
            if receiver is not None:
                receiver(message)
