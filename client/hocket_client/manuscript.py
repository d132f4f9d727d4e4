"""A text that is composed, as the client keeps it: what to send for a change, and which suggestions are for it."""

from __future__ import annotations

import os
import re

from hocket_bus.alike import alike
from hocket_bus.errors import BadRequest, Unavailable
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

from .mail import News

_WORD = re.compile(r"\s*\S+")


class Manuscript:
    """Pure: both clients drive it alike. A suggestion for another version than the text's is never handed out."""

    def __init__(self, topic: bytes, text: str, cursor: int | None, *, tokens: int, memory: bool) -> None:
        """Raises BadRequest."""
        if not 1 <= tokens <= MAX_SUGGESTED:
            raise BadRequest(f"tokens is {tokens}", f"use 1 to {MAX_SUGGESTED}")
        self.request = os.urandom(16)
        self.text, self.cursor = _checked(text, cursor)
        self.version = 0
        self.suggestion: Suggestion | None = None  # for the text as it stands
        self._topic = topic
        self._tokens = tokens
        self._memory = memory

    def whole(self) -> Compose:
        """All of it, to be sent first, and where the device has lost it."""
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
        """The text is another one from now on: what has changed. Raises BadRequest for a cursor outside it."""
        text, cursor = _checked(text, cursor)
        at = alike(self.text, text)
        end = alike(self.text[at:][::-1], text[at:][::-1])
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

    def taken(self, words: int | None) -> str:
        """The suggestion, or its first so many words; empty where there is none."""
        text = self.suggestion.text if self.suggestion is not None else ""
        return text if words is None else "".join(_WORD.findall(text)[:words])

    def nudge(self) -> list[Message]:
        """What to send after a silence or a break: it asks for the suggestion again."""
        at = self.version
        return [Edit(request=self.request, base=at, version=at, at=0, removed=0, inserted="", cursor=self.cursor)]

    def feed(self, message: Message) -> tuple[list[News], list[Message]]:
        """The news in a message, and what to send for it. Raises what ended the composing, if an error did.

        A daemon that stops ends nothing: its successor is told the whole text.
        """
        if isinstance(message, Error):
            if message.code == Unavailable.code:
                return [], []
            raise raised(message)
        if isinstance(message, Behind):
            return [], [self.whole()]
        if isinstance(message, Suggestion) and message.version == self.version:
            self.suggestion = message
            return [message], []
        return ([message], []) if isinstance(message, Remembered) else ([], [])


def _checked(text: str, cursor: int | None) -> tuple[str, int]:
    cursor = len(text) if cursor is None else cursor
    if not 0 <= cursor <= len(text):
        raise BadRequest(f"the cursor is at {cursor}, the text has {len(text)} characters", "count in characters")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise BadRequest(f"text is no Unicode: {error}", "leave lone surrogates out") from error
    if size > MAX_TEXT_BYTES:
        raise BadRequest(f"the text has {size} bytes, the limit is {MAX_TEXT_BYTES}", "compose a part of it")
    return text, cursor
