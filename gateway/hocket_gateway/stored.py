"""What the device's retrieval daemon has of cited documents: passages word for word, and whole texts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from hocket_bus.errors import BadRequest, DeadlineExceeded, HocketError, ProtocolError
from hocket_bus.faults import raised
from hocket_bus.messages import (
    Documents,
    DocumentText,
    Error,
    Hello,
    ListDocuments,
    Message,
    Origin,
    Passage,
    Passages,
    Place,
    Quote,
    Search,
    ShowDocument,
)
from hocket_bus.sockets import Bus, Event, Link, LinkDown, LinkUp, Received

M = TypeVar("M", bound=Message)
WAIT_S = 2.0  # an answer does not wait longer for the words of its sources


class StoredDocuments:
    """A connection to the retrieval daemon at an endpoint, opened when it is first needed; an empty one has nothing."""

    def __init__(self, endpoint: str, keys: Path | None) -> None:
        self._endpoint = endpoint
        self._keys = keys
        self._loop: asyncio.AbstractEventLoop | None = None
        self._bus: Bus | None = None
        self._link: Link | None = None
        self._up = asyncio.Event()
        self._waiting: dict[bytes, asyncio.Future[Message]] = {}

    @property
    def is_there(self) -> bool:
        """Whether there is an endpoint."""
        return bool(self._endpoint)

    async def texts(self, origins: Sequence[Origin]) -> dict[tuple[str, int], str]:
        """The texts of the device's own passages among these, by document and number; none where it does not answer."""
        own = [origin for origin in origins if origin.document and origin.side == "device" and not origin.device]
        if not own or not self.is_there:
            return {}
        places = [Place(document=origin.document, ordinal=origin.ordinal) for origin in own[:64]]
        try:
            found = await self._ask(Quote(request=os.urandom(16), places=places), Passages)
        except HocketError:
            return {}
        return {(passage.document, passage.ordinal): passage.text for passage in found.passages}

    async def text(self, name: str) -> str:
        """The whole text of a document. Raises BadRequest where there is none, or what keeps it from being read."""
        self._check()
        parts, chars, total = list[str](), 0, 1
        while chars < total:
            page = await self._ask(ShowDocument(request=os.urandom(16), names=[name], offset=chars), DocumentText)
            if page.name != name:
                raise BadRequest(f"there is no document '{name[:200]}'", "see: hocket documents")
            parts.append(page.text)
            chars, total = chars + len(page.text), page.total
            if not page.text:
                break
        return "".join(parts)

    async def search(self, query: str, number: int, within: Sequence[str]) -> list[Passage]:
        """The best passages for a query, of folders alone where some are named. Raises HocketError."""
        self._check()
        asked = Search(request=os.urandom(16), query=query, k=number, within=list(within))
        return list((await self._ask(asked, Passages)).passages)

    async def listed(self, offset: int) -> Documents:
        """A page of the documents by name. Raises HocketError."""
        self._check()
        return await self._ask(ListDocuments(request=os.urandom(16), offset=offset), Documents)

    def close(self) -> None:
        """Close the sockets."""
        if self._bus is not None:
            self._bus.close()

    def _check(self) -> None:
        if not self.is_there:
            raise BadRequest("this gateway shows no documents", "set retrieval in serve.toml")

    async def _ask(self, message: Quote | ShowDocument | Search | ListDocuments, kind: type[M]) -> M:
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[message.request] = answer
        try:
            async with asyncio.timeout(WAIT_S):
                link = self._connected()
                await self._up.wait()  # what is sent before is lost
                link.send(message)
                reply = await answer
        except TimeoutError as error:
            raise DeadlineExceeded("the retrieval daemon does not answer", "look at: hocket status") from error
        finally:
            del self._waiting[message.request]
        if isinstance(reply, Error):
            raise raised(reply)
        if not isinstance(reply, kind):
            raise ProtocolError(f"{self._endpoint} answered with {type(reply).__name__}", "is that a retrieval daemon?")
        return reply

    def _connected(self) -> Link:
        if self._bus is None or self._link is None:
            self._loop = asyncio.get_running_loop()
            self._bus = Bus(self._on_event, self._keys)
            self._link = self._bus.dial(self._endpoint, Hello(role="client"))
        return self._link

    def _on_event(self, event: Event) -> None:
        """On the bus's thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop may be closed
                self._loop.call_soon_threadsafe(self._take, event)

    def _take(self, event: Event) -> None:
        if isinstance(event, LinkUp):
            self._up.set()
        elif isinstance(event, LinkDown):
            self._up.clear()
        elif isinstance(event, Received):
            waiting = self._waiting.get(getattr(event.message, "request", b""))
            if waiting is not None and not waiting.done():
                waiting.set_result(event.message)
