"""Small SQLite files of a daemon's own: for their owner only, and written without a wait for the disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

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


@contextmanager
def read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file that is there, for reading alone. Raises sqlite3.Error."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
        yield database
