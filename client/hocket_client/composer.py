"""Composing: a text goes to the device as it is typed, and suggestions come back.

This module has the parts that the blocking and the asynchronous composer share: EditedText is the text as it was sent,
Mail holds what has come for it.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import threading
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress

from hocket_bus.common_prefix import common_prefix_length
from hocket_bus.deadline import Deadline
from hocket_bus.errors import BadRequest, Cancelled, Unavailable
from hocket_bus.faults import raised
from hocket_bus.messages import (
    MAX_SUGGESTED,
    MAX_TEXT_BYTES,
    Behind,
    Compose,
    Edit,
    Error,
    Message,
    Remembered,
    Suggestion,
)

from .assembly import SILENCE_S
from .connection import CLOSED, Connection
from .question import checked

News = Suggestion | Remembered
Item = News | Exception


class Mail:
    """A mailbox that the I/O thread fills and others read: several may wait, and each sees what it waits for."""

    def __init__(self) -> None:
        self._news: deque[News] = deque()
        self._error: Exception | None = None
        self._changed = threading.Condition()

    def put(self, item: Item) -> None:
        """Add news, or an error, and wake the readers."""
        if isinstance(item, Exception):
            self._error = item
        else:
            self._news.append(item)
        self.wake()

    def wake(self) -> None:
        """Wake the readers, who look again."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, holds: Callable[[], object], timeout_s: float) -> bool:
        """Wait until `holds()`, or until something went wrong; tell whether that came in time."""
        with self._changed:
            return bool(self._changed.wait_for(lambda: self._error or holds(), timeout_s))

    def next(self) -> News | None:
        """Return the next news, or None."""
        try:
            return self._news.popleft()
        except IndexError:
            return None

    def check(self) -> None:
        """Raise what went wrong, once."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def __bool__(self) -> bool:
        """Tell whether there is news."""
        return bool(self._news)


class AsyncMail(Mail):
    """A mailbox that is read on the event loop that runs when it is made."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._arrived = asyncio.Event()

    def wake(self) -> None:
        """Wake the readers; safe from any thread, also when the loop has been closed."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._ring)

    async def wait_here(self, holds: Callable[[], object], timeout_s: float) -> bool:
        """Wait as `wait` does, on the event loop."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not (self._error or holds()):
                    await self._arrived.wait()
        return bool(self._error or holds())

    def _ring(self) -> None:
        arrived, self._arrived = self._arrived, asyncio.Event()
        arrived.set()


_WORD = re.compile(r"\s*\S+")


class EditedText:
    """A text under edit. Pure: both clients drive it alike. Suggestions for other versions are never handed out."""

    def __init__(self, topic: bytes, text: str, cursor: int | None, *, tokens: int, memory: bool) -> None:
        """Begin with a text. Raises BadRequest."""
        if not 1 <= tokens <= MAX_SUGGESTED:
            raise BadRequest(f"tokens is {tokens}", f"use 1 to {MAX_SUGGESTED}")
        self.request = os.urandom(16)
        self.text, self.cursor = _checked(text, cursor)
        self.version = 0
        self.suggestion: Suggestion | None = None  # for the text as it stands
        self._settles = Deadline.after(0.0)  # by when newer memory for it comes, if it does
        self._topic = topic
        self._tokens = tokens
        self._memory = memory

    def whole(self) -> Compose:
        """Return the whole text as a message, to be sent first, and when the device has lost it."""
        return Compose(
            request=self.request,
            topic=self._topic,
            version=self.version,
            text=self.text,
            cursor=self.cursor,
            tokens=self._tokens,
            remembers=self._memory,
        )

    def change(self, text: str, cursor: int | None) -> Edit:
        """Replace the text; return what has changed as a message. Raises BadRequest for a cursor outside the text."""
        text, cursor = _checked(text, cursor)
        at = common_prefix_length(self.text, text)
        end = common_prefix_length(self.text[at:][::-1], text[at:][::-1])
        base, self.version = self.version, self.version + 1
        removed, inserted = len(self.text) - at - end, text[at : len(text) - end]
        self.text, self.cursor, self.suggestion = text, cursor, None
        return Edit(
            request=self.request,
            base=base,
            version=self.version,
            at=at,
            removed=removed,
            inserted=inserted,
            cursor=cursor,
        )

    @property
    def settles_s(self) -> float:
        """Return how many seconds the suggestion may still be replaced by one with newer memory; 0 if none is coming.

        Infinite before there is a suggestion.
        """
        return math.inf if self.suggestion is None else self._settles.left_s

    def taken(self, words: int | None) -> str:
        """Return the suggestion, or its first so many words; empty if there is none."""
        text = self.suggestion.text if self.suggestion is not None else ""
        return text if words is None else "".join(_WORD.findall(text)[:words])

    def nudge(self) -> list[Message]:
        """Return what to send after a silence or a break: a message that asks for the suggestion again."""
        at = self.version
        return [Edit(request=self.request, base=at, version=at, at=0, removed=0, inserted="", cursor=self.cursor)]

    def feed(self, message: Message) -> tuple[list[News], list[Message]]:
        """Return the news in a message, and what to send in reply. Raises the error that ended the composing, if any.

        A daemon that stops ends nothing: its successor is sent the whole text.
        """
        if isinstance(message, Error):
            if message.code == Unavailable.code:
                return [], []
            raise raised(message)
        if isinstance(message, Behind):
            return [], [self.whole()]
        if isinstance(message, Suggestion) and message.version == self.version:
            self.suggestion, self._settles = message, Deadline.after(message.expects_s)
            return [message], []
        return ([message], []) if isinstance(message, Remembered) else ([], [])


def _checked(text: str, cursor: int | None) -> tuple[str, int]:
    cursor = len(text) if cursor is None else cursor
    if not 0 <= cursor <= len(text):
        raise BadRequest(f"the cursor is at {cursor}, the text has {len(text)} characters", "count in characters")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise BadRequest(f"text is not Unicode: {error}", "remove lone surrogates") from error
    if size > MAX_TEXT_BYTES:
        raise BadRequest(f"the text has {size} bytes, the limit is {MAX_TEXT_BYTES}", "send a shorter part of it")
    return text, cursor


class _Composer:
    """Base of the composers: sends what changed, and stores the suggestion for the present text. From any thread."""

    def __init__(self, connection: Connection, edited: EditedText, mail: Mail) -> None:
        self._connection = connection
        self._edited = edited
        self._mail = mail
        self._lock = threading.Lock()
        self._closed = False
        request = edited.request
        connection.expect(request, _receiver(edited, self._lock, connection, mail.put), edited.nudge)
        self._leave = weakref.finalize(self, connection.leave, request)
        self._leave.atexit = False  # a process that ends leaves by its silence
        connection.send(edited.whole())

    @property
    def text(self) -> str:
        """Return the present text."""
        return self._edited.text

    @property
    def cursor(self) -> int:
        """Return the place of the cursor in the text, in characters."""
        return self._edited.cursor

    @property
    def version(self) -> int:
        """Return the version of the present text; it grows by one with every change."""
        return self._edited.version

    @property
    def suggestion(self) -> Suggestion | None:
        """Return what may follow the cursor of the present text; None while that is not known."""
        return self._edited.suggestion

    @property
    def settles_s(self) -> float:
        """Return how many seconds the suggestion may still be replaced by one with newer memory; 0 if none is coming.

        Infinite before there is a suggestion.
        """
        return self._edited.settles_s

    @property
    def first_memory_s(self) -> float:
        """Return how many seconds the first memory of all may still take; 0 if there is some, or none is coming.

        Infinite before there is a suggestion. A program that shows suggestions during typing waits for this at most.
        """
        known = self.suggestion
        return 0.0 if known is not None and known.memory_age_s else self.settles_s

    @checked
    def update(self, text: str, cursor: int | None = None) -> int:
        """Replace the text, with the cursor at its end unless given, and return its version.

        Only what changed is sent. Raises BadRequest for a cursor outside the text, Cancelled when it is closed.
        """
        self._check_open()
        with self._lock:
            self._connection.send(self._edited.change(text, cursor))
            return self._edited.version

    @checked
    def accept(self, words: int | None = None) -> str:
        """Write the suggestion, or its first `words`, at the cursor; return what was written."""
        self._check_open()
        taken, text, cursor = self._edited.taken(words), self.text, self.cursor
        if taken:
            self.update(text[:cursor] + taken + text[cursor:], cursor + len(taken))
        return taken

    def _stands(self, news: News) -> bool:
        """Tell whether news still applies: it is not a suggestion for a text that has changed since it came."""
        return not isinstance(news, Suggestion) or news.version == self.version

    def close(self) -> None:
        """Compose no more."""
        self._closed = True
        if self._connection.is_own:  # else another thread may have held the locks when this process was forked
            self._leave()
            self._mail.wake()

    def _check_open(self) -> None:
        """Raise Cancelled when the composer or its client is closed, and Unavailable in a forked process."""
        self._connection.check()
        if self._closed or self._connection.is_closed:
            raise Cancelled(*CLOSED)

    def _next(self) -> News | None:
        """Return the next news, None while there is none. Raises what went wrong."""
        self._connection.check()
        while (news := self._mail.next()) is not None:
            if self._stands(news):
                return news
        self._mail.check()
        if not self._closed:
            self._check_open()
        return None

    def _known(self) -> Suggestion | None:
        """Return the suggestion for the present text, None while there is none. Raises what went wrong."""
        self._check_open()
        self._mail.check()
        return self.suggestion

    def _has_news(self) -> bool:
        return self._closed or bool(self._mail)

    def _is_settled(self) -> bool:
        return self._closed or not self.settles_s

    def _has_settled(self) -> bool:
        """Tell whether the suggestion is known and final. Raises what went wrong."""
        return self._known() is not None and not self.settles_s

    def _patience_s(self, deadline: Deadline) -> float:
        return min(SILENCE_S, deadline.left_s, self.settles_s)

    def _nudge(self) -> None:
        if self._edited.suggestion is None:
            self._connection.send(*self._edited.nudge())


class Composer(_Composer):
    """A blocking composer: `with client.compose("Dear Ms Varga,") as composer: composer.update(…); composer.wait()`."""

    def __init__(self, connection: Connection, edited: EditedText) -> None:
        super().__init__(connection, edited, Mail())

    @checked
    def events(self, wait_s: float = math.inf) -> Iterator[News]:
        """Yield news in order until none has come for `wait_s`, or it is closed. Raises what went wrong."""
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
        """Return the suggestion for the present text as soon as it is known; None if it is not known in time.

        Memory that is on its way is waited for, as long as the device says. The suggestion's text is empty if nothing
        may follow. What comes meanwhile is still yielded by `events`. Raises what went wrong, Cancelled when closed.
        """
        deadline = Deadline.after(wait_s)
        while not (self._has_settled() or deadline.passed):
            if not self._mail.wait(self._is_settled, self._patience_s(deadline)):
                self._nudge()
        return self._known()

    def __enter__(self) -> Composer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncComposer(_Composer):
    """A composer for asyncio: `async for event in composer.events()`, `await composer.wait()`."""

    _mail: AsyncMail

    def __init__(self, connection: Connection, edited: EditedText) -> None:
        super().__init__(connection, edited, AsyncMail())

    @checked
    def events(self, wait_s: float = math.inf) -> AsyncIterator[News]:
        """Yield news, as Composer.events does."""
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
        """Return the suggestion for the present text, as Composer.wait does."""
        deadline = Deadline.after(wait_s)
        while not (self._has_settled() or deadline.passed):
            if not await self._mail.wait_here(self._is_settled, self._patience_s(deadline)):
                self._nudge()
        return self._known()

    async def __aenter__(self) -> AsyncComposer:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


def _receiver(
    edited: EditedText, lock: threading.Lock, connection: Connection, put: Callable[[Item], None]
) -> Callable[[Message], None]:
    """Return a receiver for the I/O thread; it references no composer, so that one that nobody holds is closed."""

    def receive(message: Message) -> None:
        try:
            with lock:
                news, replies = edited.feed(message)
                connection.send(*replies)
        except Exception as error:  # noqa: BLE001 - raised where events are read
            put(error)
        else:
            for each in news:
                put(each)

    return receive
