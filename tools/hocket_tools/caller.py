"""A blocking connection to a daemon for requests and their replies; knows the bus and no daemon in particular."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

from hocket_bus.deadline import Deadline
from hocket_bus.endpoints import check_endpoint
from hocket_bus.errors import BadRequest, DeadlineExceeded, HocketError, ProtocolError, Unavailable, from_code
from hocket_bus.messages import Error, Hello, Message, Progress, Role, Welcome
from hocket_bus.sockets import Bus, Event, LinkDown, LinkUp, Received

T = TypeVar("T", bound=Message)
Item = TypeVar("Item")


class Caller:
    """A connection to the daemon at `endpoint`; close it, or use it as a context manager.

    Raises Unavailable when nothing answers within `connect_s`, the reason why the daemon refuses, BadConfiguration, or
    BadRequest when the daemon is of another `role`.
    """

    welcome: Welcome  # the daemon's

    def __init__(
        self, endpoint: str, connect_s: float = 5.0, keys: Path | None = None, role: Role | None = None
    ) -> None:
        """Connect. `keys` is this machine's folder of keys, as for a Client; `role` is the daemon's, None for any."""
        check_endpoint(endpoint)
        self.endpoint = endpoint
        self._inbox: SimpleQueue[Event] = SimpleQueue()
        self._bus = Bus(self._inbox.put, keys)
        try:
            self._link = self._bus.dial(endpoint, Hello(role="client"))
            self._wait_up(Deadline.after(connect_s))
            if role not in (None, self.welcome.role):
                text = f"a {self.welcome.role} daemon listens at {endpoint}, not a {role} daemon"
                raise BadRequest(text, f"name the endpoint of a {role} daemon")
        except BaseException:
            self.close()
            raise

    def ask(self, message: Message, kind: type[T], wait_s: float = 10.0) -> T:
        """Send `message` and wait for its one reply, of type `kind`. Raises DeadlineExceeded, or the daemon's error."""
        reply = next(self.replies(message, wait_s))
        if not isinstance(reply, kind):
            raise ProtocolError(f"{self.endpoint} answered with {type(reply).__name__}", "is that the right daemon?")
        return reply

    def replies(self, message: Message, silence_s: float) -> Iterator[Message]:
        """Send `message` and yield its replies, up to the first one that is not Progress.

        Raises DeadlineExceeded after `silence_s` without one, Unavailable when the daemon goes away.
        """
        request: bytes = getattr(message, "request")  # noqa: B009 - every request has one, their base has not
        self._link.send(message)
        deadline = Deadline.after(silence_s)
        while True:
            event = self._next(deadline)
            if isinstance(event, LinkDown):
                raise Unavailable(f"the daemon at {self.endpoint} went away", "see its log, then run this again")
            if not isinstance(event, Received) or getattr(event.message, "request", None) != request:
                continue
            if isinstance(event.message, Error):
                error = event.message
                raise from_code(error.code, error.text, error.remedy, error.retry_after_s)
            yield event.message
            if not isinstance(event.message, Progress):
                return
            deadline = Deadline.after(silence_s)

    def close(self) -> None:
        """Close the sockets."""
        self._bus.close()

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait_up(self, deadline: Deadline) -> None:
        reason: HocketError = Unavailable(f"no daemon answers at {self.endpoint}", "start the pair: hocket up")
        while not deadline.passed:
            try:
                event = self._inbox.get(timeout=deadline.left_s)
            except Empty:
                break
            if isinstance(event, LinkUp):
                self.welcome = event.welcome
                return
            if isinstance(event, LinkDown) and isinstance(event.reason, ProtocolError):
                reason = event.reason
        raise reason

    def _next(self, deadline: Deadline) -> Event:
        try:
            return self._inbox.get(timeout=deadline.left_s)
        except Empty:
            raise DeadlineExceeded(f"no answer from {self.endpoint} in time", "look at: hocket status") from None


def paged(page_from: Callable[[int], tuple[Sequence[Item], int]]) -> Iterator[Item]:
    """Yield all items of a list that comes in pages; `page_from(offset)` returns a page and the whole list's length."""
    offset, total = 0, 1
    while offset < total:
        items, total = page_from(offset)
        if not items:
            return
        yield from items
        offset += len(items)
