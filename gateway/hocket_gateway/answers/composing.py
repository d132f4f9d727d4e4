"""The path `/composing`: what may follow the cursor of a text, while a person writes it on the page.

A request has the whole text, and its answer is a stream: each suggestion for this text as it comes, until the client
leaves or a newer version of the text has come. The device is sent only what has changed.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Annotated

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from hocket_bus.errors import HocketError
from hocket_bus.limits.shares import Bucket
from hocket_bus.messages import Suggestion
from hocket_client import AsyncComposer

from ..access.people import Person
from ..http.body import read
from ..http.refusals import Refusal
from ..http.sending import EventStream
from ..upstream import Upstream
from .shapes import sse

IDLE_S = 120.0  # a text that nobody writes at is closed
MAX_TEXTS = 4  # of a person at once; the one that was touched least recently is closed for another
A_MINUTE = 900  # changes of a person's texts: fifteen a second


class ComposingRequest(Struct, frozen=True, kw_only=True):
    """A text and the cursor in it, in characters; `id` names the text. With `alone` the cloud is sent nothing."""

    id: Annotated[str, Meta(min_length=1, max_length=64)]
    text: str
    cursor: Annotated[int, Meta(ge=0)]
    alone: bool = False


class OpenText:
    """A text that the device knows. Made on the loop that serves; closed once."""

    def __init__(self, composer: AsyncComposer) -> None:
        self._composer = composer
        self._error: HocketError | None = None
        self._is_open = True
        self._changed = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    @property
    def version(self) -> int:
        """Return the version of the present text."""
        return self._composer.version

    def update(self, text: str, cursor: int) -> None:
        """Replace the text; streams of an older one end. Raises HocketError."""
        if (self._composer.text, self._composer.cursor) != (text, cursor):
            self._composer.update(text, cursor)
            self._ring()

    async def suggestions(self, version: int) -> AsyncGenerator[Suggestion]:
        """Yield each suggestion for this version, until there is a newer one. Raises HocketError.

        The first of all waits for memory that is on its way.
        """
        last: object = None
        while self._is_open and self.version == version:
            changed = self._changed
            if self._error is not None:
                raise self._error
            found, wait_s = self._composer.suggestion, self._composer.first_memory_s
            if found is not None and not wait_s and (found.text, found.sources) != last:
                last = (found.text, found.sources)
                yield found
            else:
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait_s if 0 < wait_s < math.inf else None):
                        await changed.wait()

    def close(self) -> None:
        """Close the text; streams end, too."""
        self._is_open = False
        self._composer.close()
        self._ring()

    async def _read(self) -> None:
        try:
            async for _ in self._composer.events():
                self._ring()
        except HocketError as error:
            self._error = error
            self._ring()

    def _ring(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


Key = tuple[str, str, bool]  # whose, which, and whether the cloud is told nothing


class Composing:
    """The texts that are open."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._texts: dict[Key, tuple[OpenText, asyncio.TimerHandle]] = {}  # the one that was touched last at the end
        self._buckets: dict[str, Bucket] = {}

    async def text(self, person: Person, wanted: ComposingRequest) -> OpenText:
        """Return the text, opened or updated as requested. Raises Refusal, HocketError."""
        self._check(person)
        client = await self._upstream.client()
        key = (person.account, wanted.id, wanted.alone or person.alone_only)
        text, closing = self._texts.pop(key, (None, None))
        if text is None or closing is None:
            text = OpenText(client.compose(wanted.text, wanted.cursor, memory=not key[2]))
        else:
            closing.cancel()
        self._texts[key] = text, asyncio.get_running_loop().call_later(IDLE_S, self._close, key)
        for oldest in [each for each in self._texts if each[0] == key[0]][:-MAX_TEXTS]:
            self._close(oldest)
        text.update(wanted.text, wanted.cursor)
        return text

    def close(self) -> None:
        """Close all texts."""
        for key in list(self._texts):
            self._close(key)

    def _check(self, person: Person) -> None:
        if person.folders:
            text = "suggestions use all documents of this device, and this key may read only some folders"
            raise Refusal(403, text, "use a key without --in", "not_allowed")
        now = time.monotonic()
        bucket = self._buckets.setdefault(person.account, Bucket(A_MINUTE / 60, A_MINUTE, now))
        if bucket.spend(1, now) < 0:
            bucket.spend(-1, now)
            raise Refusal(429, "this key's texts change too often", "wait a moment", "busy", retry_after_s=1.0)

    def _close(self, key: Key) -> None:
        text, closing = self._texts.pop(key)
        closing.cancel()
        text.close()


async def composing(request: Request) -> Response:
    """Stream the suggestions; the text of one is empty if nothing may follow. Raises Refusal, HocketError."""
    gateway, person = request.app.state.gateway, request.state.person
    wanted = await read(request, ComposingRequest, gateway.settings.max_body_bytes)
    text = await gateway.composing.text(person, wanted)
    return EventStream(_events(text), lambda: None)


async def _events(text: OpenText) -> AsyncGenerator[bytes]:
    try:
        async for found in text.suggestions(text.version):
            sources = [{"side": each.side, "document": each.document} for each in found.sources]
            yield sse({"text": found.text, "sources": sources})
    except HocketError as error:
        yield sse(Refusal.of(error).openai())
