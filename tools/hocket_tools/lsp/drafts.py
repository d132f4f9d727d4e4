"""The documents that are open in an editor, and the connection to the daemon that makes suggestions for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from hocket_bus.errors import Busy, HocketError
from hocket_client import AsyncClient, Suggestion

from .draft import Draft
from .text import Text

MAX_COMPOSED = 3  # texts at once; a device keeps two rows for each
WAIT_S = 5.0  # for a suggestion
REST_S = 1.0  # after a fault


class Drafts:
    """The open documents, by URI.

    Nothing is suggested while the daemon is away or busy; that is reported once, and tried again after a rest.
    """

    def __init__(
        self,
        make_client: Callable[[], AsyncClient],
        report: Callable[[str], None],
        on_newer: Callable[[], None],
        *,
        tokens: int,
        memory: bool,
    ) -> None:
        """Hold no document yet.

        `report` is called with each fault, `on_newer` when there is another suggestion for an unchanged text.
        """
        self._make_client = make_client
        self._report = report
        self._on_newer = on_newer
        self._tokens = tokens
        self._memory = memory
        self._drafts: dict[str, Draft] = {}  # the one asked for last at the end
        self._client: AsyncClient | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._fault = ""  # that was said last
        self._rest_until_s = 0.0

    def __getitem__(self, uri: str) -> Draft | None:
        """Return an open document, None where it is not open."""
        return self._drafts.get(uri)

    def open(self, uri: str, text: Text) -> None:
        """Add a document that was opened."""
        self.close(uri)
        self._drafts[uri] = Draft(text, self._on_newer)

    def close(self, uri: str) -> None:
        """Remove a document that was closed."""
        draft = self._drafts.pop(uri, None)
        if draft is not None:
            draft.rest()

    async def suggestion(self, uri: str) -> Suggestion | None:
        """Return what may follow the cursor of the current text; None if that changes meanwhile or nothing is known."""
        try:
            async with asyncio.timeout(WAIT_S):
                suggestion = await self._suggestion(uri)
        except TimeoutError:
            self._complain(f"no suggestion came within {WAIT_S:g} s: see how the daemons are: hocket status")
        except HocketError as error:
            self._fail(error)
        else:
            self._fault = "" if suggestion is not None else self._fault
            return suggestion
        return None

    async def leave(self) -> None:
        """Close all documents and the connection."""
        for uri in list(self._drafts):
            self.close(uri)
        if self._connecting is not None:
            self._connecting.cancel()
        if self._client is not None:
            await self._client.close()

    async def _suggestion(self, uri: str) -> Suggestion | None:
        draft = self._drafts.get(uri)
        if draft is None:
            return None
        asked = (draft.text, draft.cursor)
        client = await self._connected()
        if client is None or self._drafts.get(uri) is not draft or asked != (draft.text, draft.cursor):
            return None
        self._make_room(uri)
        return await draft.suggestion(client, tokens=self._tokens, memory=self._memory)

    async def _connected(self) -> AsyncClient | None:
        """Return the connection; None where there is none, and for a while after a fault."""
        if time.monotonic() < self._rest_until_s:
            return None
        if self._client is None:
            self._connecting = self._connecting or asyncio.create_task(self._connect())
            await asyncio.shield(self._connecting)
        return self._client

    async def _connect(self) -> None:
        """Connect on a task of its own, since an editor may cancel the request that needs the connection."""
        try:
            self._client = await self._make_client().__aenter__()
        except HocketError as error:
            self._fail(error)
        finally:
            self._connecting = None

    def _make_room(self, uri: str) -> None:
        """Mark a document as asked for last, and stop composing those asked for earliest where there are too many."""
        self._drafts[uri] = self._drafts.pop(uri)
        composed = [each for each in self._drafts.values() if each.is_composed or each is self._drafts[uri]]
        for draft in composed[:-MAX_COMPOSED]:
            draft.rest()

    def _fail(self, error: HocketError) -> None:
        self._rest_until_s = time.monotonic() + (error.retry_after_s if isinstance(error, Busy) else REST_S)
        self._complain(str(error))

    def _complain(self, fault: str) -> None:
        if fault != self._fault:
            self._report(fault)
        self._fault = fault
