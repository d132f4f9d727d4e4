"""A document that is open in an editor; composing begins when a suggestion is first asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hocket_bus.errors import HocketError
from hocket_client import AsyncClient, AsyncComposer, Suggestion

from .text import Text

Known = Suggestion | HocketError | None


class Draft:
    """The current text and cursor of a document, and what is known of what may follow."""

    def __init__(self, text: Text, on_newer: Callable[[], None]) -> None:
        """Hold a text; `on_newer` is called when newer memory changes the suggestion that the same text was given."""
        self.text = text
        self._on_newer = on_newer
        self.cursor = 0
        self._known: asyncio.Future[Known] = asyncio.get_running_loop().create_future()
        self._composer: AsyncComposer | None = None
        self._listening: asyncio.Task[None] | None = None

    @property
    def is_composed(self) -> bool:
        """Tell whether the device is composing this text."""
        return self._composer is not None

    def stand(self, text: Text, cursor: int) -> None:
        """Set the text and the cursor; where they differ, the suggestion that is waited for becomes None."""
        if (text, cursor) == (self.text, self.cursor):
            return
        self.text, self.cursor = text, cursor
        self._report(None)
        self._known = asyncio.get_running_loop().create_future()
        if self._composer is not None:
            try:
                self._composer.update(text.characters, cursor)
            except HocketError as error:
                self._end(error)

    async def suggestion(self, client: AsyncClient, *, tokens: int, memory: bool) -> Suggestion | None:
        """Return the suggestion for the current text, None if that changes meanwhile. Raises what ended the composing.

        Before there is any memory, the memory on its way is waited for, as long as the device says.
        """
        asked = (self.text, self.cursor)
        if self._composer is None:
            composer = client.compose(self.text.characters, self.cursor, tokens=tokens, memory=memory)
            self._composer = composer
            self._listening = asyncio.create_task(self._listen(composer))
            self._known = asyncio.get_running_loop().create_future()
        known = await asyncio.shield(self._known)
        if isinstance(known, HocketError):
            raise known
        return known if asked == (self.text, self.cursor) else None

    def rest(self) -> None:
        """Stop composing until a suggestion is asked for again."""
        self._end(None)

    async def _listen(self, composer: AsyncComposer) -> None:
        try:
            async for _ in composer.events():
                if composer.suggestion is not None:
                    self._hear(composer, composer.suggestion)
        except HocketError as error:
            self._end(error)

    def _hear(self, composer: AsyncComposer, found: Suggestion) -> None:
        if wait_s := composer.first_memory_s:
            asyncio.get_running_loop().call_later(wait_s, self._settle, composer, found.version)
            return
        before = self._known.result() if self._known.done() else None
        self._report(found)
        if isinstance(before, Suggestion) and before.version == found.version and before.text != found.text:
            self._on_newer()

    def _settle(self, composer: AsyncComposer, version: int) -> None:
        """Report the suggestion where nothing newer has come in time."""
        if composer is self._composer and composer.version == version and not self._known.done():
            self._report(composer.suggestion)

    def _report(self, known: Known) -> None:
        if self._known.done():
            self._known = asyncio.get_running_loop().create_future()
        self._known.set_result(known)

    def _end(self, reason: HocketError | None) -> None:
        if self._composer is not None:
            self._composer.close()
            self._composer = None
        if self._listening is not None and self._listening is not asyncio.current_task():
            self._listening.cancel()
        self._report(reason)
