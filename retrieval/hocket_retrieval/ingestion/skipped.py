"""Files that are skipped: one small SQLite file beside the document store.

Of those that were not read the reason is here, until the file is read, or looked for in vain, or forgotten by whoever
removes documents. Those that somebody removed by name are not read with their folder, until the file itself is named to
be read, or its folder is removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..sqlite_file import SqliteFile
from ..stores.folders import folder_of

MAX_ENTRIES = 10_000  # of more the oldest go
_SCHEMA = (  # by version
    "CREATE TABLE skipped (name TEXT PRIMARY KEY, reason TEXT NOT NULL, in_part INTEGER NOT NULL);",
    "CREATE TABLE removed (name TEXT PRIMARY KEY) WITHOUT ROWID;",
)
_SURPLUS = """DELETE FROM skipped
    WHERE rowid <= (SELECT rowid FROM skipped ORDER BY rowid DESC LIMIT 1 OFFSET ?)"""


class SkippedFiles:
    """Names of skipped files, with the reasons, and of removed ones; any thread may use it."""

    def __init__(self, path: Path) -> None:
        """Open, or make, the file. Raises StoreError when it is damaged or of a later version."""
        self._file = SqliteFile(path, 2, lambda version: "".join(_SCHEMA[version:]), "move it away; it is made anew")

    def put(self, entries: Iterable[tuple[str, str]]) -> None:
        """Record files that were not read, (name, reason); the newest reason of each counts."""
        self._put((name, reason, False) for name, reason in entries)

    def read(self, name: str, notice: str) -> None:
        """Record that a file was read; `notice` says what of it was not, empty where all was."""
        if notice:
            self._put([(name, notice, True)])
        else:
            self._delete("DELETE FROM skipped WHERE name = ?", name)

    def unchanged(self, name: str) -> None:
        """Record that a file has not changed since it was read: what was noted about a part of it still holds."""
        self._delete("DELETE FROM skipped WHERE name = ? AND NOT in_part", name)

    def forget(self, paths: Sequence[str], spared: Iterable[str] = ()) -> None:
        """Forget these paths and all below them, but for the files that are `spared`."""
        stays = frozenset(spared)
        with self._file.writing() as connection:
            for folder in map(folder_of, filter(None, paths)):
                sql = "SELECT name FROM skipped WHERE name = ? OR (name >= ? AND name < ?)"
                found = connection.execute(sql, folder).fetchall()
                connection.executemany(
                    "DELETE FROM skipped WHERE name = ?", [row for row in found if row[0] not in stays]
                )

    def reason(self, name: str) -> str:
        """Return why a file, or a part of it, was skipped; empty where nothing is known of that."""
        with self._file.reading() as connection:
            row = connection.execute("SELECT reason FROM skipped WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""

    def page(self, offset: int, limit: int) -> tuple[list[tuple[str, str]], int]:
        """Return (name, reason) of at most `limit` files from the `offset`-th on, by name, and how many there are."""
        with self._file.reading() as connection:
            sql = "SELECT name, reason FROM skipped ORDER BY name LIMIT ? OFFSET ?"
            rows = connection.execute(sql, (limit, offset)).fetchall()
            return rows, int(connection.execute("SELECT count(*) FROM skipped").fetchone()[0])

    def remove(self, names: Sequence[str]) -> None:
        """Skip these files when their folders are read. Durable when this returns, as a private file must stay away."""
        with self._file.writing(durable=True) as connection:
            connection.executemany("INSERT OR IGNORE INTO removed VALUES (?)", [(name,) for name in names])

    def take_back(self, names: Sequence[str]) -> None:
        """Read these files with their folders again."""
        with self._file.writing() as connection:
            connection.executemany("DELETE FROM removed WHERE name = ?", [(name,) for name in names])

    def take_back_below(self, folder: str) -> None:
        """Read all files below a folder with it again."""
        with self._file.writing() as connection:
            connection.execute("DELETE FROM removed WHERE name >= ? AND name < ?", folder_of(folder)[1:])

    def removed(self) -> frozenset[str]:
        """Return the names of those that somebody removed."""
        with self._file.reading() as connection:
            return frozenset(name for (name,) in connection.execute("SELECT name FROM removed"))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _put(self, entries: Iterable[tuple[str, str, bool]]) -> None:
        with self._file.writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO skipped VALUES (?, ?, ?)", entries)
            connection.execute(_SURPLUS, (MAX_ENTRIES,))

    def _delete(self, sql: str, name: str) -> None:
        if self.reason(name):  # of most files nothing is here
            with self._file.writing() as connection:
                connection.execute(sql, (name,))
