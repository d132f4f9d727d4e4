"""Turns of a conversation that may leave: those that their recipient has read before, unless more is allowed.

A turn is known by a digest of its words, so that any client can bring its conversation along, and nothing that it says
of it need be believed.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec
import structlog

from hocket_bus.errors import BadConfiguration
from hocket_bus.messages import Prompt, Turn

from ..database import rows_of, written

HistoryPolicy = Literal["seen", "all", "none"]
CLOUD = "cloud"  # the reader that all cloud daemons are
MAX_SEEN = 10_000  # the oldest are forgotten, and then told no more
_TABLE = "CREATE TABLE IF NOT EXISTS seen (number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE)"
_DROP = "DELETE FROM seen WHERE number <= (SELECT max(number) FROM seen) - ?"
log = structlog.get_logger(__name__)


class History:
    """The turns that were read elsewhere. For the main thread."""

    def __init__(self, policy: HistoryPolicy = "seen", path: Path | None = None) -> None:
        """Read the turns from `path`, the ledger's file, in which they outlive the daemon; None: they do not."""
        self._policy = policy
        self._path = path
        self._seen = dict.fromkeys(_read(path))
        self._pending: list[bytes] = []

    def shareable(self, prompt: Prompt, reader: str) -> Prompt:
        """Return the part of a prompt that `reader` may get; the query and the system line go with any question.

        The query that was rewritten from its turns is a part only where all of them are.
        """
        if self._policy == "all":
            return prompt
        turns = [turn for turn in prompt.turns if self._policy == "seen" and _digest(turn, reader) in self._seen]
        sought = prompt.sought if len(turns) == len(prompt.turns) else ""
        return msgspec.structs.replace(prompt, turns=turns, sought=sought)

    def add(self, query: str, answer: str, reader: str) -> None:
        """Note that `reader` has read this question and the whole of its answer."""
        digest = _digest(Turn(query=query, answer=answer), reader)
        self._seen.pop(digest, None)
        self._seen[digest] = None
        if len(self._seen) > MAX_SEEN:
            del self._seen[next(iter(self._seen))]
        self._pending.append(digest)

    def write(self) -> None:
        """Write down the added turns; those that cannot be written are not shared after the daemon has ended."""
        pending, self._pending = self._pending, []
        if self._path is None or not pending:
            return
        try:
            with written(self._path, _TABLE) as database:
                database.executemany("INSERT OR REPLACE INTO seen (digest) VALUES (?)", [(each,) for each in pending])
                database.execute(_DROP, (MAX_SEEN,))
        except (OSError, sqlite3.Error, BadConfiguration) as error:
            log.warning("which turns the cloud has read cannot be written down", reason=str(error))


def _read(path: Path | None) -> list[bytes]:
    if path is not None:
        with suppress(sqlite3.Error):
            return [digest for (digest,) in rows_of(path, "seen", "SELECT digest FROM seen ORDER BY number")]
    return []


def _digest(turn: Turn, reader: str) -> bytes:
    words = "\0".join((reader, turn.query.strip(), turn.answer.strip()))
    return hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).digest()
