"""Files that wait to be ingested, on the disk: they stay until `dequeue`, whatever happens to process and machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..sqlite_file import SqliteFile

SCHEMA_VERSION = 1
SCHEMA = """
CREATE TABLE queue (name TEXT PRIMARY KEY, root TEXT NOT NULL, size INTEGER NOT NULL, attempts INTEGER NOT NULL);
"""


class Queued(NamedTuple):
    """A file still to ingest, of the folder `root` if one was named, and how often a process has died reading it.

    A `stale` one is a document that is stored and has to be made anew.
    """

    name: str
    root: str = ""
    size: int = 0
    attempts: int = 0
    stale: bool = False


class WaitingFiles:
    """The queue at `path`; any thread may use it."""

    def __init__(self, path: Path) -> None:
        """Open, or make, the file. Raises StoreError when it is damaged or of a later version."""
        self._file = SqliteFile(path, SCHEMA_VERSION, lambda _: SCHEMA, "move it away and ingest the files again")

    def close(self) -> None:
        """Close the file; no method may be called afterwards."""
        self._file.close()

    def files(self) -> list[Queued]:
        """Return all queued files, in their order."""
        with self._file.reading() as connection:
            rows = connection.execute("SELECT name, root, size, attempts FROM queue ORDER BY rowid")
            return [Queued(*row) for row in rows]

    def __contains__(self, name: str) -> bool:
        with self._file.reading() as connection:
            return connection.execute("SELECT 1 FROM queue WHERE name = ?", (name,)).fetchone() is not None

    def enqueue(self, files: Iterable[Queued]) -> None:
        """Remember files to ingest."""
        with self._file.writing(durable=True) as connection:
            connection.executemany(
                "INSERT INTO queue VALUES (?, ?, ?, 0) ON CONFLICT (name)"
                " DO UPDATE SET root = excluded.root, size = excluded.size, attempts = 0",
                (file[:3] for file in files),
            )

    def dequeue(self, names: Sequence[str]) -> None:
        """Forget files: they are ingested, cannot be, or need not be any more."""
        with self._file.writing() as connection:
            connection.executemany("DELETE FROM queue WHERE name = ?", ((name,) for name in names))

    def attempt(self, name: str) -> None:
        """Record that a file is about to be read: a process that dies before `survived` may have died of it."""
        with self._file.writing() as connection:
            connection.execute("UPDATE queue SET attempts = attempts + 1 WHERE name = ?", (name,))

    def survived(self, name: str) -> None:
        """Record that the process survived a file, which it has read or refused."""
        with self._file.writing() as connection:
            connection.execute("UPDATE queue SET attempts = 0 WHERE name = ?", (name,))
