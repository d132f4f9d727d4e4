"""A process's connection to a daemon, and the questions that it carries.

It routes messages to their requests, with what came, what is still unread, and how each ended. Both clients use it;
only their waits differ.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from hocket_bus.deadline import Deadline
from hocket_bus.errors import Cancelled, DeadlineExceeded, HocketError, ProtocolError, Unavailable
from hocket_bus.faults import error_message, raised
from hocket_bus.messages import (
    Accepted,
    Account,
    Behind,
    Cancel,
    Done,
    Error,
    Explain,
    Explained,
    Failed,
    Hello,
    LinkSwitched,
    Lost,
    Message,
    Notice,
    Remembered,
    ShowAccount,
    Status,
    StatusRequest,
    Suggestion,
    SwitchLink,
    Thought,
    Token,
    Waiting,
)
from hocket_bus.sockets import Bus, Event, LinkDown, LinkUp, Received

from .assembly import SILENCE_S, Assembly, StreamEvent
from .pace import Pace
from .question import Options, ask_message

T = TypeVar("T", bound=Message)
Request = StatusRequest | SwitchLink | Explain | ShowAccount  # what has one reply
Receiver = Callable[[Message], None]
Nudge = Callable[[], list[Message]]

TAKEN = (
    *(Accepted, Error, Lost, Token, Thought, Waiting, Notice, Done, Failed),
    *(Status, LinkSwitched, Explained, Account, Behind, Suggestion, Remembered),
)
CLOSED = ("the client was closed", "ask with an open one")


class Connection:
    """A subscription to a topic of its own, which passes each message to the receiver of its request."""

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
        """Tell whether this process made the connection: after a fork, the sockets and thread stay with the parent."""
        return self._process == os.getpid()

    @property
    def is_closed(self) -> bool:
        """Tell whether `close` was called."""
        return self._closed

    def check(self) -> None:
        """Raise Unavailable in a forked process, where no awaited message would come."""
        if not self.is_own:
            raise Unavailable(
                f"this client belongs to process {self._process}, from which this one was forked",
                "make a Client of its own in every process",
            )

    def expect(self, request: bytes, receiver: Receiver, nudge: Nudge | None = None) -> None:
        """Pass the messages of `request` to `receiver`; `nudge` returns what to send when the link is back.

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
        """Stop receiving messages of `request`."""
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
        """Cancel open requests, report that to every receiver and close the sockets; safe from any thread, and twice.

        In a forked process it does nothing: the connection lives on in the parent.
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


def record_in(message: Explained) -> dict[str, Any]:
    """Decode a decision record. Raises ProtocolError if it is malformed."""
    try:
        return msgspec.json.decode(message.record, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise ProtocolError("the daemon's record is not JSON", "install the same hocket on both ends") from error


def reply_of(message: Message | None, kind: type[T], waited_s: float) -> T:
    """Return the reply, or raise if there is None. Raises DeadlineExceeded, or the daemon's error."""
    if message is None:
        what = "status" if kind is Status else "answer"
        raise DeadlineExceeded(f"no {what} within {waited_s:g} s", "look at the daemon's log")
    if isinstance(message, Error):
        raise raised(message)
    assert isinstance(message, kind)
    return message


GRACE_S = 5.0  # what a daemon gets beyond the request's own deadline to say that it has passed


class Reader:
    """A question that was asked. A subclass passes it the messages or the silence, and hands out the events.

    Once nobody references it, it is cancelled and forgotten. So nothing long-lived, like the receiver, may hold it.
    """

    def __init__(self, connection: Connection, question: str | None, options: Options, receiver: Receiver) -> None:
        self.notices: list[str] = []
        self._connection = connection
        self._assembly = Assembly(ask_message(question, topic=connection.topic, **options))
        self._deadline = Deadline.after(self._assembly.ask.deadline_s + GRACE_S)
        self._ready: deque[StreamEvent] = deque()
        self._pace = Pace(options.get("pace", 0.0))
        self._error: Exception | None = None
        request = self._assembly.ask.request
        connection.expect(request, receiver, self._assembly.nudge)
        self._leave = weakref.finalize(self, connection.leave, request)
        self._leave.atexit = False  # a process that ends leaves by its silence
        connection.send(self._assembly.ask)

    def cancel(self) -> None:
        """Ask the daemon to stop, again after a break. The stream then ends with finish 'cancelled'."""
        self._connection.send(self._assembly.cancel())

    @property
    def request(self) -> bytes:
        """Return the question's number, which `hocket explain` takes in hexadecimal."""
        return self._assembly.ask.request

    @property
    def done(self) -> Done | None:
        """Return the end of the answer, once it was read."""
        return self._assembly.done if self._over else None

    @property
    def _over(self) -> bool:
        """Tell whether the Done has been read."""
        return self._assembly.done is not None and not self._ready

    @property
    def _wait_s(self) -> float:
        """Return how long to wait for the next message; if none has come by then, that is a silence."""
        return min(SILENCE_S, self._deadline.left_s)

    def _done(self) -> Done:
        assert self._assembly.done is not None
        return self._assembly.done

    def _next(self) -> StreamEvent | None:
        """Return the next event, None while there is none. Raises the error that ended the request, however often."""
        if self._ready:
            event = self._ready.popleft()
            if isinstance(event, Notice):
                self.notices.append(event.text)
            return event
        if self._error is not None:
            raise self._error
        self._connection.check()
        return None

    def _pause_s(self, event: StreamEvent) -> float:
        """Return how long an event must wait for the pace that the reader requested."""
        return self._pace.wait_s(time.monotonic()) if isinstance(event, Token) else 0.0

    def _take(self, message: Message | None) -> None:
        """Process a message; None is a silence."""
        try:
            self._ready += self._received(message)
        except Exception as error:  # noqa: BLE001 - raised by `_next`
            self._error = error
            self._leave()
        if self._assembly.done is not None:
            self._leave.detach()
            self._connection.forget(self._assembly.ask.request)

    def _received(self, message: Message | None) -> list[StreamEvent]:
        if message is not None:
            ready = self._assembly.feed(message)
            self._connection.send(*self._assembly.reply())
            return ready
        if self._deadline.passed:
            raise self._assembly.overdue()
        self._connection.send(*self._assembly.nudge())
        return []
