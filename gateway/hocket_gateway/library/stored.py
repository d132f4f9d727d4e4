"""Client of the device's retrieval daemon: to search passages, and to show, ingest and remove documents."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from hocket_bus.errors import BadRequest, DeadlineExceeded, HocketError, ProtocolError, Unavailable
from hocket_bus.faults import raised
from hocket_bus.messages import (
    Documents,
    DocumentText,
    Embed,
    Embedded,
    Error,
    Hello,
    Ingest,
    Ingested,
    ListDocuments,
    ListSkipped,
    Message,
    Origin,
    Passage,
    Passages,
    Place,
    Progress,
    Quote,
    Remove,
    Removed,
    Search,
    ShowDocument,
    Skipped,
)
from hocket_bus.sockets import Bus, Event, Link, LinkDown, LinkUp, Received

M = TypeVar("M", bound=Message)
T = TypeVar("T")
Request: TypeAlias = Quote | ShowDocument | Search | ListDocuments | ListSkipped | Remove | Embed | Ingest
SOURCES_S = 2.0  # an answer does not wait longer for their words
CONNECTED_S = 5.0
ASKED_S = 60.0  # what somebody asks for: a search in a large store, many texts to embed
REMOVE_S = 3_600.0  # a document of very many passages; the link itself is watched every second
INGEST_SILENCE_S = 600.0  # a job may wait behind another one; the link itself is watched every second


class StoredDocuments:
    """A connection to the retrieval daemon at an endpoint, opened on first use; an empty endpoint has no documents."""

    def __init__(self, endpoint: str, keys: Path | None) -> None:
        self._endpoint = endpoint
        self._keys = keys
        self._loop: asyncio.AbstractEventLoop | None = None
        self._bus: Bus | None = None
        self._link: Link | None = None
        self._up = asyncio.Event()
        self._waiting: dict[bytes, asyncio.Queue[Message | HocketError]] = {}  # what was sent, by its number

    @property
    def is_there(self) -> bool:
        """Tell whether there is an endpoint."""
        return bool(self._endpoint)

    async def texts(self, origins: Sequence[Origin]) -> dict[tuple[str, int], str]:
        """Return the texts of the device's own passages in `origins`, by document and number; empty on an error."""
        own = [origin for origin in origins if origin.document and origin.side == "device" and not origin.device]
        if not own or not self.is_there:
            return {}
        places = [Place(document=origin.document, ordinal=origin.ordinal) for origin in own[:64]]
        try:
            found = await self._ask(Quote(request=os.urandom(16), places=places), Passages, SOURCES_S)
        except HocketError:
            return {}
        return {(passage.document, passage.ordinal): passage.text for passage in found.passages}

    async def page(self, name: str, offset: int) -> DocumentText:
        """Return a document's text from `offset` on. Raises BadRequest if there is none, or why it cannot be read."""
        self._check()
        page = await self._ask(ShowDocument(request=os.urandom(16), names=[name], offset=offset), DocumentText)
        if page.name != name:
            raise BadRequest(f"there is no document '{name[:200]}'", "see: hocket documents --side device")
        return page

    async def search(self, query: str, number: int, within: Sequence[str]) -> list[Passage]:
        """Return the best passages for a query, only from folders in `within` if any are named. Raises HocketError."""
        self._check()
        asked = Search(request=os.urandom(16), query=query, k=number, within=list(within))
        return list((await self._ask(asked, Passages)).passages)

    async def listed(self, offset: int) -> Documents:
        """Return a page of the documents by name. Raises HocketError."""
        self._check()
        return await self._ask(ListDocuments(request=os.urandom(16), offset=offset), Documents)

    async def skipped(self, offset: int) -> Skipped:
        """Return a page of what was not read. Raises HocketError."""
        self._check()
        return await self._ask(ListSkipped(request=os.urandom(16), offset=offset), Skipped)

    async def remove(self, names: list[str]) -> Removed:
        """Forget documents, or all in folders. Raises HocketError."""
        self._check()
        return await self._ask(Remove(request=os.urandom(16), documents=names), Removed, REMOVE_S)

    async def embed(self, texts: list[str], role: Literal["document", "query"]) -> Embedded:
        """Return the vectors of texts. Raises HocketError."""
        self._check()
        return await self._ask(Embed(request=os.urandom(16), texts=texts, role=role), Embedded)

    async def ingest(self, paths: list[str]) -> AsyncGenerator[Progress | Ingested]:
        """Read files and folders; the last reply is Ingested. A reading that has begun continues without a listener.

        Raises HocketError.
        """
        self._check()
        asked = Ingest(request=os.urandom(16), paths=paths)
        async with aclosing(self._replies(asked, INGEST_SILENCE_S)) as replies:
            async for reply in replies:
                if not isinstance(reply, Progress | Ingested):
                    raise self._strange(reply)
                yield reply

    def close(self) -> None:
        """Close the sockets."""
        if self._bus is not None:
            self._bus.close()

    def _check(self) -> None:
        if not self.is_there:
            raise BadRequest("this gateway shows no documents", "set retrieval in serve.toml")

    async def _ask(self, message: Request, kind: type[M], wait_s: float = ASKED_S) -> M:
        async with aclosing(self._replies(message, wait_s)) as replies:
            reply = await anext(replies)
        if not isinstance(reply, kind):
            raise self._strange(reply)
        return reply

    async def _replies(self, message: Request, silence_s: float) -> AsyncGenerator[Message]:
        """Send a request and yield its replies, up to the first that is no Progress. Raises HocketError."""
        link = self._connected()
        await _in_time(self._up.wait(), min(CONNECTED_S, silence_s))  # what is sent before is lost
        replies = self._waiting[message.request] = asyncio.Queue()
        try:
            link.send(message)
            is_last = False
            while not is_last:
                reply = await _in_time(replies.get(), silence_s)
                if isinstance(reply, HocketError):
                    raise reply
                if isinstance(reply, Error):
                    raise raised(reply)
                is_last = not isinstance(reply, Progress)
                yield reply
        finally:
            del self._waiting[message.request]

    def _strange(self, reply: Message) -> ProtocolError:
        return ProtocolError(f"{self._endpoint} answered with {type(reply).__name__}", "is that a retrieval daemon?")

    def _connected(self) -> Link:
        if self._bus is None or self._link is None:
            self._loop = asyncio.get_running_loop()
            self._bus = Bus(self._on_event, self._keys)
            self._link = self._bus.dial(self._endpoint, Hello(role="client"))
        return self._link

    def _on_event(self, event: Event) -> None:
        """Pass an event from the bus's thread to the event loop."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop may be closed
                self._loop.call_soon_threadsafe(self._take, event)

    def _take(self, event: Event) -> None:
        if isinstance(event, LinkUp):
            self._up.set()
        elif isinstance(event, LinkDown):
            self._up.clear()
            for replies in self._waiting.values():
                replies.put_nowait(Unavailable("the retrieval daemon went away", "look at: hocket status"))
        elif isinstance(event, Received):
            waiting = self._waiting.get(getattr(event.message, "request", b""))
            if waiting is not None:
                waiting.put_nowait(event.message)


async def _in_time(what: Coroutine[Any, Any, T], seconds: float) -> T:
    """Await `what` for at most `seconds`. Raises DeadlineExceeded."""
    try:
        async with asyncio.timeout(seconds):
            return await what
    except TimeoutError as error:
        raise DeadlineExceeded("the retrieval daemon does not answer", "look at: hocket status") from error
