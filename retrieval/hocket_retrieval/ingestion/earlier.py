"""The migration of a folder of an earlier hocket: until version 6 its queue and graph were in the documents' file.

They move into files of their own before that file is opened. A process that dies in the middle leaves the old file as
it was, and the next one begins again.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from hocket_bus.trust.private import keep_private

from ..errors import StoreError
from ..graph import tables as graph
from . import waiting

_LAST_WHOLE = 6
_WITH_ENGINES = 4  # the first whose graph is like today's; an earlier one is made anew
_GRAPH = ("subgraphs", "entities", "spellings", "mentions", "pending", "gone", "changed", "stated", "fallen")


def take_over(folder: Path) -> None:
    """Bring a folder to today's files; nothing is done where it is so. Raises StoreError when it is damaged."""
    old = folder / "documents.sqlite"
    if not old.exists():
        return
    try:
        with closing(sqlite3.connect(old)) as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if 1 <= version <= _LAST_WHOLE:
                _take_queue(connection, folder / "queue.sqlite", version)
            if _WITH_ENGINES <= version <= _LAST_WHOLE:
                _take_graph(connection, folder / "graph.sqlite")
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{old}: {error}", "move its folder away and ingest the documents again") from error


def _take_queue(connection: sqlite3.Connection, path: Path, version: int) -> None:
    columns = "name, root, size, attempts" if version > 1 else "name, '', 0, 0"
    rows = connection.execute(f"SELECT {columns} FROM queue ORDER BY rowid").fetchall()
    with closing(_new(path, waiting.SCHEMA, waiting.SCHEMA_VERSION)) as new, new:
        new.executemany("INSERT INTO queue VALUES (?, ?, ?, ?)", rows)


def _take_graph(connection: sqlite3.Connection, path: Path) -> None:
    with closing(_new(path, graph.SCHEMA, graph.SCHEMA_VERSION)) as new, new:
        chunks = connection.execute(
            "SELECT c.id, d.name, c.ordinal FROM chunks c JOIN documents d ON d.id = c.document"
        )
        new.executemany("INSERT INTO chunks VALUES (?, ?, ?)", chunks)
        for table in _GRAPH:
            new.execute(f"DELETE FROM {table}")  # what the triggers of other tables have put there
            rows = connection.execute(f"SELECT * FROM {table}").fetchall()
            if rows:
                new.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        facts = connection.execute(
            "SELECT name, value FROM facts WHERE name IN ('graph', 'relations', 'modularity', 'extractor', 'number')"
        )
        new.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.fetchall())


def _new(path: Path, schema: str, version: int) -> sqlite3.Connection:
    """Make a new file, whatever is there, and connect to it."""
    for part in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        part.unlink(missing_ok=True)
    keep_private(path)
    connection = sqlite3.connect(path)
    connection.executescript(f"BEGIN;{schema}PRAGMA user_version = {version};COMMIT;")
    return connection
