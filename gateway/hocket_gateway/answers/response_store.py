"""Storage of responses that clients may refer to, in a file of this device: each with its request and predecessor."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from hocket_bus.errors import BadConfiguration
from hocket_bus.trust.private import keep_private

MAX_STORED = 10_000  # the oldest go first
MAX_BYTES, MAX_BYTES_OF_ONE = 256 << 20, 32 << 20  # of all people, and of one: the oldest go first, too
_SCHEMA = """
CREATE TABLE IF NOT EXISTS responses (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT UNIQUE NOT NULL,
    person TEXT NOT NULL,
    previous TEXT NOT NULL,
    asked BLOB NOT NULL,
    resource BLOB NOT NULL
)
"""
_SURPLUS = """
DELETE FROM responses WHERE number IN (
    SELECT number FROM (
        SELECT number, SUM(LENGTH(asked) + LENGTH(resource)) OVER (ORDER BY number DESC) AS behind
        FROM responses WHERE person = ? OR ?
    ) WHERE behind > ?)
"""


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A stored response; `asked` are the messages of the request, and `resource` the whole answer, both as JSON."""

    id: str
    person: str
    previous: str  # empty: there is none
    asked: bytes
    resource: bytes


class ResponseStore:
    """The responses in one file, each for its person alone; forgotten ones are erased from the file's bytes, too."""

    def __init__(self, file: Path) -> None:
        """Open the file. Raises BadConfiguration if it cannot be written."""
        keep_private(file)
        try:
            self._database = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
            self._database.execute("PRAGMA secure_delete = ON")
            self._database.execute("PRAGMA journal_mode = MEMORY")  # a journal would hold the pages as they were
            self._database.execute(_SCHEMA)
        except sqlite3.Error as error:
            raise BadConfiguration(f"{file}: {error}", "move it away, or name another file") from error

    def put(self, response: StoredResponse) -> None:
        """Store a response; beyond MAX_STORED, and beyond so many bytes, the oldest are forgotten."""
        values = (response.id, response.person, response.previous, response.asked, response.resource)
        self._database.execute(
            "INSERT INTO responses (id, person, previous, asked, resource) VALUES (?, ?, ?, ?, ?)", values
        )
        self._database.execute(
            "DELETE FROM responses WHERE number <= (SELECT MAX(number) FROM responses) - ?", (MAX_STORED,)
        )
        self._database.execute(_SURPLUS, (response.person, False, MAX_BYTES_OF_ONE))
        self._database.execute(_SURPLUS, (response.person, True, MAX_BYTES))

    def find(self, id: str, person: str) -> StoredResponse | None:
        """Return a response of this person, or None."""
        row = self._database.execute(
            "SELECT id, person, previous, asked, resource FROM responses WHERE id = ? AND person = ?", (id, person)
        ).fetchone()
        return StoredResponse(*row) if row is not None else None

    def forget(self, id: str, person: str) -> bool:
        """Forget a response; tell whether there was one of this person."""
        deleted = self._database.execute("DELETE FROM responses WHERE id = ? AND person = ?", (id, person))
        return deleted.rowcount > 0

    def close(self) -> None:
        """Close the file."""
        self._database.close()
