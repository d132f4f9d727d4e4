"""Names of documents that somebody removed, one by one: readings of their folders skip these files.

An entry stays until the file itself is named to be read, or its folder is removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..sqlite_file import SqliteFile
from ..stores.folders import folder_of

_SCHEMA = "CREATE TABLE removed (name TEXT PRIMARY KEY) WITHOUT ROWID;"


class RemovedFiles:
    """Names of removed documents; any thread may use it."""

    def __init__(self, path: Path) -> None:
        """Open, or make, the file. Raises StoreError when it is damaged or of a later version."""
        self._file = SqliteFile(path, 1, lambda _: _SCHEMA, "move it away; folders are then read whole again")

    def put(self, names: Sequence[str]) -> None:
        """Skip these files from now on; on the disk when this returns, as what is private stays away after a crash."""
        with self._file.writing(durable=True) as connection:
            connection.executemany("INSERT OR IGNORE INTO removed VALUES (?)", [(name,) for name in names])

    def lift(self, names: Sequence[str]) -> None:
        """Read these files again."""
        with self._file.writing() as connection:
            connection.executemany("DELETE FROM removed WHERE name = ?", [(name,) for name in names])

    def lift_below(self, folder: str) -> None:
        """Read all files below a folder again."""
        with self._file.writing() as connection:
            connection.execute("DELETE FROM removed WHERE name >= ? AND name < ?", folder_of(folder)[1:])

    def names(self) -> frozenset[str]:
        """Return the names of all of them."""
        with self._file.reading() as connection:
            return frozenset(name for (name,) in connection.execute("SELECT name FROM removed"))

    def close(self) -> None:
        """Close the file."""
        self._file.close()
