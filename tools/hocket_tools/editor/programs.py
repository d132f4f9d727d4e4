"""Composing for programs: a text per line comes in, an event per line goes out."""

from __future__ import annotations

import os
import sys
import threading
import time
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from hocket_bus.errors import BadRequest, HocketError
from hocket_client import Client, Composer, Remembered, Suggestion
from hocket_tools.console import error_record, print_json

LAST_S = 10.0  # for the suggestion for the last line
POLL_S = 0.1  # between two looks whether the lines have ended


class TextUpdate(msgspec.Struct, forbid_unknown_fields=True):
    """A text, the number that its events are to bear, and where the cursor is in it: at its end unless said."""

    version: int
    text: str
    cursor: int | None = None


def serve(client: Client, *, tokens: int, memory: bool) -> None:
    """Compose the texts on standard input until it ends; a bad line gives an error event.

    Raises what ends the composing.
    """
    with client.compose(tokens=tokens, memory=memory) as composer:
        session = _Session(composer)
        # Python aborts where it ends while a thread reads sys.stdin; another reader of that file may be left behind.
        lines = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
        threading.Thread(target=session.take, args=(lines,), daemon=True).start()
        try:
            for record in session.records():
                print_json(record)
        except HocketError as error:
            print_json(error_record(error))
            raise


class _Session:
    """A session with a program, whose lines come in on a thread of their own."""

    def __init__(self, composer: Composer) -> None:
        self._composer = composer
        self._numbers: dict[int, int] = {}  # of the caller's, by the composer's
        self._ended_s: float | None = None

    def take(self, lines: Iterable[bytes]) -> None:
        """Compose the text of each line, one after the other."""
        try:
            for line in lines:
                try:
                    self._take(line)
                except BadRequest as error:
                    print_json(error_record(error))
        finally:
            self._ended_s = time.monotonic()

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records to be printed, up to the suggestion for the last line."""
        while not self._over():
            for event in self._composer.events(POLL_S):
                if isinstance(event, Remembered):
                    yield _remembered(event)
                elif event.version in self._numbers:
                    yield _suggested(event, self._numbers[event.version])

    def _take(self, line: bytes) -> None:
        try:
            read = msgspec.json.decode(line.removeprefix(BOM_UTF8), type=TextUpdate)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise BadRequest(
                f"'{line.decode(errors='replace').strip()[:60]}' is not a text request: {error}",
                'write {"version": 1, "text": "…", "cursor": 1}',
            ) from error
        self._numbers[self._composer.version + 1] = read.version
        self._composer.update(read.text, read.cursor)

    def _over(self) -> bool:
        if self._ended_s is None:
            return False
        is_shown = not self._composer.settles_s or not self._numbers
        return is_shown or time.monotonic() > self._ended_s + LAST_S


def _suggested(event: Suggestion, version: int) -> dict[str, Any]:
    sources = [{"side": each.side, "document": each.document} for each in event.sources]
    return {
        "event": "suggestion",
        "version": version,
        "text": event.text,
        "ms": round(event.ms, 2),
        "passes": event.passes,
        "memory_age_s": round(event.memory_age_s, 3),
        "sources": sources,
    }


def _remembered(event: Remembered) -> dict[str, Any]:
    takeaways = [{"text": each.text, "document": each.document} for each in event.takeaways]
    return {"event": "memory", "side": event.side, "takeaways": takeaways, "generator": event.generator}
