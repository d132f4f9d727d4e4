"""`/composing`: what may follow the cursor of a text, while a person writes it on the page.

A request has the whole text and is answered once its suggestion is known, or when a newer text of the same writing has
come. The device is told what has changed alone.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from hocket_bus.errors import HocketError
from hocket_bus.messages import Suggestion
from hocket_bus.shares import Bucket
from hocket_client import AsyncComposer

from .body import read
from .people import Person
from .refusals import Refusal
from .sending import json_response, whole
from .upstream import Upstream

WAIT_S = 10.0  # for a suggestion; whoever wants it yet asks again
IDLE_S = 120.0  # a text that nobody writes at is closed
MAX_TEXTS = 4  # of a person at once; the one that was touched least recently is closed for another
A_MINUTE = 900  # changes of a person's texts: fifteen a second


class ComposingRequest(Struct, frozen=True, kw_only=True):
    """A text and the cursor in characters; `id` is the writing's own. With `alone` the cloud is told nothing."""

    id: Annotated[str, Meta(min_length=1, max_length=64)]
    text: str
    cursor: Annotated[int, Meta(ge=0)]
    alone: bool = False


@dataclass(slots=True)
class _Text:
    """One that is open, and what will close it."""

    composer: AsyncComposer
    closing: asyncio.TimerHandle


Key = tuple[str, str, bool]  # whose, which, and whether the cloud is told nothing


class Composing:
    """The texts that are open. Made on the loop that serves; closed at its end."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._texts: dict[Key, _Text] = {}  # the one that was touched last at the end
        self._buckets: dict[str, Bucket] = {}

    async def suggestion(self, person: Person, wanted: ComposingRequest) -> Suggestion | None:
        """What may follow; None where it is not known in time, or the text is another one by then.

        Raises Refusal, HocketError.
        """
        self._check(person)
        key = (person.name, wanted.id, wanted.alone or person.alone_only)
        composer = await self._composer(key, wanted)
        version = composer.version
        try:
            found = await composer.wait(WAIT_S)
        except HocketError:
            self._close(key)
            raise
        return found if found is not None and composer.version == version else None

    def close(self) -> None:
        """Compose no more."""
        for key in list(self._texts):
            self._close(key)

    def _check(self, person: Person) -> None:
        if person.folder:
            text = "a text is composed from all documents of this device, and this key reads one folder"
            raise Refusal(403, text, "use a key without --in", "not_allowed")
        now = time.monotonic()
        bucket = self._buckets.setdefault(person.name, Bucket(A_MINUTE / 60, A_MINUTE, now))
        if bucket.spend(1, now) < 0:
            bucket.spend(-1, now)
            raise Refusal(429, "this key's texts change too often", "wait a moment", "busy", retry_after_s=1.0)

    async def _composer(self, key: Key, wanted: ComposingRequest) -> AsyncComposer:
        client = await self._upstream.client()
        loop, text = asyncio.get_running_loop(), self._texts.pop(key, None)
        if text is None:
            composer = client.compose(wanted.text, wanted.cursor, memory=not key[2])
        else:
            text.closing.cancel()
            composer = text.composer
            if (composer.text, composer.cursor) != (wanted.text, wanted.cursor):
                composer.update(wanted.text, wanted.cursor)
        self._texts[key] = _Text(composer, loop.call_later(IDLE_S, self._close, key))
        of_person = [each for each in self._texts if each[0] == key[0]]
        for oldest in of_person[:-MAX_TEXTS]:
            self._close(oldest)
        return composer

    def _close(self, key: Key) -> None:
        text = self._texts.pop(key, None)
        if text is not None:
            text.closing.cancel()
            text.composer.close()


async def composing(request: Request) -> Response:
    """A suggestion; its text is empty where none is known. Raises Refusal, HocketError."""
    gateway, person = request.app.state.gateway, request.state.person
    wanted = await read(request, ComposingRequest, gateway.settings.max_body_bytes)
    return await whole(request, _answered(gateway.composing, person, wanted), lambda: None)


async def _answered(texts: Composing, person: Person, wanted: ComposingRequest) -> Response:
    found = await texts.suggestion(person, wanted)
    sources: list[dict[str, Any]] = []
    if found is not None:
        sources = [{"side": each.side, "document": each.document} for each in found.sources]
    return json_response({"text": found.text if found is not None else "", "sources": sources})
