"""Small SQLite files of a daemon's own: for their owner only, and written without a wait for the disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from hocket_bus.trust.private import keep_private


@contextmanager
def written(path: Path, table: str) -> Iterator[sqlite3.Connection]:
    """Open the file, made where it is missing, with `table`, a CREATE TABLE IF NOT EXISTS; commit at the end.

    Raises OSError, sqlite3.Error, BadConfiguration.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    keep_private(path)
    with closing(sqlite3.connect(path, timeout=1.0)) as database, database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute(table)
        yield database


def rows_of(path: Path, table: str, query: str, values: Sequence[str | int] = ()) -> list[tuple[Any, ...]]:
    """Return the rows of a query for `table`, without writing to the file.

    There are none without the file, or in one that has no such table: its daemon may be making it just now, or have
    written nothing but other tables. Raises sqlite3.Error.
    """
    if not path.exists():
        return []
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
        there = database.execute("SELECT count(*) FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
        return database.execute(query, values).fetchall() if there else []
