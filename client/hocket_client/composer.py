"""Composing: a text goes to the device as it is typed, suggestions come back. What both clients' composers are."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from queue import Empty, SimpleQueue

from hocket_bus.deadline import Deadline
from hocket_bus.errors import Cancelled
from hocket_bus.messages import Message, Suggestion

from .assembly import SILENCE_S
from .connection import CLOSED, Connection
from .inbox import Inbox
from .manuscript import Manuscript, News

Item = News | Exception


class _Composer:
    """Sends what changed, and keeps the suggestion for the text as it stands. From any thread."""

    def __init__(self, connection: Connection, manuscript: Manuscript, put: Callable[[Item], None]) -> None:
        self._connection = connection
        self._manuscript = manuscript
        self._lock = threading.Lock()
        self._closed = False
        request = manuscript.request
        connection.expect(request, _receiver(manuscript, self._lock, connection, put), manuscript.nudge)
        self._leave = weakref.finalize(self, connection.leave, request)
        self._leave.atexit = False  # a process that ends leaves by its silence
        connection.send(manuscript.whole())

    @property
    def text(self) -> str:
        """The text as it stands."""
        return self._manuscript.text

    @property
    def cursor(self) -> int:
        """Where the cursor is in it, in characters."""
        return self._manuscript.cursor

    @property
    def version(self) -> int:
        """Of the text as it stands; it grows by one with every change."""
        return self._manuscript.version

    @property
    def suggestion(self) -> Suggestion | None:
        """What may follow the cursor of the text as it stands; None while that is not known."""
        return self._manuscript.suggestion

    def update(self, text: str, cursor: int | None = None) -> int:
        """The text is this one from now on, the cursor at its end unless said otherwise; returns its version.

        Only what changed is sent. Raises BadRequest for a cursor outside the text.
        """
        if self._closed:
            raise Cancelled(*CLOSED)
        with self._lock:
            self._connection.send(self._manuscript.change(text, cursor))
            return self._manuscript.version

    def accept(self, words: int | None = None) -> str:
        """Write the suggestion, or its first `words`, at the cursor; returns what was written."""
        taken, text, cursor = self._manuscript.taken(words), self.text, self.cursor
        if taken:
            self.update(text[:cursor] + taken + text[cursor:], cursor + len(taken))
        return taken

    def _stands(self, news: News) -> bool:
        """Whether it is not a suggestion for a text that has changed since it came."""
        return not isinstance(news, Suggestion) or news.version == self.version

    def _end(self) -> None:
        self._closed = True
        self._leave()

    def _nudge(self) -> None:
        if self._manuscript.suggestion is None:
            self._connection.send(*self._manuscript.nudge())


class Composer(_Composer):
    """`with client.compose("Dear Ms Varga,") as composer: composer.update(…); print(composer.wait().text)`."""

    def __init__(self, connection: Connection, manuscript: Manuscript) -> None:
        self._inbox: SimpleQueue[Item] = SimpleQueue()
        self._read: deque[News] = deque()  # by `wait`, and not handed out yet
        super().__init__(connection, manuscript, self._inbox.put)

    def events(self, wait_s: float = float("inf")) -> Iterator[News]:
        """What comes, in order, until nothing has come for `wait_s`. Raises what ended the composing."""
        while not self._closed:
            news = self._read.popleft() if self._read else self._next(Deadline.after(wait_s))
            if news is None:
                return
            if self._stands(news):
                yield news

    def wait(self, wait_s: float = 5.0) -> Suggestion | None:
        """The suggestion for the text as it stands, None where it is not known by then. Raises as `events`."""
        deadline = Deadline.after(wait_s)
        while self.suggestion is None and (news := self._next(deadline)) is not None:
            self._read.append(news)
        return self.suggestion

    def _next(self, deadline: Deadline) -> News | None:
        while not self._closed and not deadline.passed:
            try:
                item = self._inbox.get(timeout=min(SILENCE_S, deadline.left_s))
            except Empty:
                self._nudge()
                continue
            if isinstance(item, Exception):
                raise item
            return item
        return None

    def close(self) -> None:
        """Compose no more."""
        self._end()

    def __enter__(self) -> Composer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncComposer(_Composer):
    """The same for asyncio: `async for event in composer.events()`."""

    def __init__(self, connection: Connection, manuscript: Manuscript) -> None:
        self._inbox: Inbox[Item] = Inbox()
        super().__init__(connection, manuscript, self._inbox.put)

    async def events(self) -> AsyncIterator[News]:
        """What comes, in order, until it is closed. Raises what ended the composing."""
        while not self._closed:
            item = await self._inbox.get(SILENCE_S)
            if item is None:
                self._nudge()
            elif isinstance(item, Exception):
                raise item
            elif self._stands(item):
                yield item

    def close(self) -> None:
        """Compose no more."""
        self._end()

    async def __aenter__(self) -> AsyncComposer:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


def _receiver(
    manuscript: Manuscript, lock: threading.Lock, connection: Connection, put: Callable[[Item], None]
) -> Callable[[Message], None]:
    """What takes messages on the I/O thread; it holds no composer, so that one that nobody holds is closed."""

    def receive(message: Message) -> None:
        try:
            with lock:
                news, replies = manuscript.feed(message)
                connection.send(*replies)
        except Exception as error:  # noqa: BLE001 - raised where events are read
            put(error)
        else:
            for each in news:
                put(each)

    return receive
