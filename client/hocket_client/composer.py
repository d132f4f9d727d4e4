"""Composing: a text goes to the device as it is typed, suggestions come back. What both clients' composers are."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator

from hocket_bus.deadline import Deadline
from hocket_bus.errors import Cancelled
from hocket_bus.messages import Message, Suggestion

from .assembly import SILENCE_S
from .connection import CLOSED, Connection
from .mail import AsyncMail, Item, Mail, News
from .manuscript import Manuscript
from .question import checked


class _Composer:
    """Sends what changed, and keeps the suggestion for the text as it stands. From any thread."""

    def __init__(self, connection: Connection, manuscript: Manuscript, mail: Mail) -> None:
        self._connection = connection
        self._manuscript = manuscript
        self._mail = mail
        self._lock = threading.Lock()
        self._closed = False
        request = manuscript.request
        connection.expect(request, _receiver(manuscript, self._lock, connection, mail.put), manuscript.nudge)
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

    @checked
    def update(self, text: str, cursor: int | None = None) -> int:
        """The text is this one from now on, the cursor at its end unless said otherwise; returns its version.

        Only what changed is sent. Raises BadRequest for a cursor outside the text, Cancelled when it is closed.
        """
        self._check_open()
        with self._lock:
            self._connection.send(self._manuscript.change(text, cursor))
            return self._manuscript.version

    @checked
    def accept(self, words: int | None = None) -> str:
        """Write the suggestion, or its first `words`, at the cursor; returns what was written."""
        self._check_open()
        taken, text, cursor = self._manuscript.taken(words), self.text, self.cursor
        if taken:
            self.update(text[:cursor] + taken + text[cursor:], cursor + len(taken))
        return taken

    def _stands(self, news: News) -> bool:
        """Whether it is not a suggestion for a text that has changed since it came."""
        return not isinstance(news, Suggestion) or news.version == self.version

    def close(self) -> None:
        """Compose no more."""
        self._closed = True
        if self._connection.is_own:  # else another thread may have held the locks when this process was forked
            self._leave()
            self._mail.wake()

    def _check_open(self) -> None:
        """Raises Cancelled when it is closed, or its client; Unavailable in a forked process."""
        self._connection.check()
        if self._closed or self._connection.is_closed:
            raise Cancelled(*CLOSED)

    def _next(self) -> News | None:
        """The next news, None while there is none. Raises what went wrong."""
        self._connection.check()
        while (news := self._mail.next()) is not None:
            if self._stands(news):
                return news
        self._mail.check()
        if not self._closed:
            self._check_open()
        return None

    def _known(self) -> Suggestion | None:
        """The suggestion for the text as it stands, None while there is none. Raises what went wrong."""
        self._check_open()
        self._mail.check()
        return self.suggestion

    def _has_news(self) -> bool:
        return self._closed or bool(self._mail)

    def _is_known(self) -> bool:
        return self._closed or self.suggestion is not None

    def _nudge(self) -> None:
        if self._manuscript.suggestion is None:
            self._connection.send(*self._manuscript.nudge())


class Composer(_Composer):
    """`with client.compose("Dear Ms Varga,") as composer: composer.update(…); composer.wait()`."""

    def __init__(self, connection: Connection, manuscript: Manuscript) -> None:
        super().__init__(connection, manuscript, Mail())

    @checked
    def events(self, wait_s: float = math.inf) -> Iterator[News]:
        """What comes, in order, until nothing has come for `wait_s`, or it is closed. Raises what went wrong."""
        return self._events(wait_s)

    def _events(self, wait_s: float) -> Iterator[News]:
        deadline = Deadline.after(wait_s)
        while not self._closed:
            if (news := self._next()) is not None:
                yield news
                deadline = Deadline.after(wait_s)
            elif deadline.passed:
                return
            elif not self._mail.wait(self._has_news, min(SILENCE_S, deadline.left_s)):
                self._nudge()

    @checked
    def wait(self, wait_s: float = 5.0) -> Suggestion | None:
        """The suggestion for the text as it stands, as soon as it is known; None where it is not by then.

        Its text is empty where nothing may follow. What comes meanwhile is still handed out by `events`. Raises what
        went wrong, Cancelled when it is closed.
        """
        deadline = Deadline.after(wait_s)
        while (known := self._known()) is None and not deadline.passed:
            if not self._mail.wait(self._is_known, min(SILENCE_S, deadline.left_s)):
                self._nudge()
        return known

    def __enter__(self) -> Composer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncComposer(_Composer):
    """The same for asyncio: `async for event in composer.events()`, `await composer.wait()`."""

    _mail: AsyncMail

    def __init__(self, connection: Connection, manuscript: Manuscript) -> None:
        super().__init__(connection, manuscript, AsyncMail())

    @checked
    def events(self, wait_s: float = math.inf) -> AsyncIterator[News]:
        """As those of a Composer."""
        return self._events(wait_s)

    async def _events(self, wait_s: float) -> AsyncIterator[News]:
        deadline = Deadline.after(wait_s)
        while not self._closed:
            if (news := self._next()) is not None:
                yield news
                deadline = Deadline.after(wait_s)
            elif deadline.passed:
                return
            elif not await self._mail.wait_here(self._has_news, min(SILENCE_S, deadline.left_s)):
                self._nudge()

    @checked
    async def wait(self, wait_s: float = 5.0) -> Suggestion | None:
        """As that of a Composer."""
        deadline = Deadline.after(wait_s)
        while (known := self._known()) is None and not deadline.passed:
            if not await self._mail.wait_here(self._is_known, min(SILENCE_S, deadline.left_s)):
                self._nudge()
        return known

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
