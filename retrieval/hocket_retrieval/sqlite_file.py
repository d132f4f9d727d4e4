"""A SQLite file (WAL) of a daemon: any thread reads over a connection of its own, and writes take turns.

Deleted content is overwritten, and `purge` also removes it from the log beside the file.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hocket_bus.trust.private import keep_private

from .errors import StoreError, StoreFull

_BUSY_S = 30.0


class SqliteFile:
    """The file at `path`, of schema `version`; `remedy` says what to do where it is damaged."""

    def __init__(self, path: Path, version: int, make: Callable[[int], str], remedy: str) -> None:
        """Open, or make, the file. `make` returns the SQL that leads from a version, 0 for a new file, to this one.

        Raises StoreError when it is damaged or of a later version.
        """
        self.path = path
        self._remedy = remedy
        self._idle: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()
        self._write_lock = threading.Lock()
        self._durable: bool | None = None  # as the writer is now
        keep_private(path)
        try:
            self._writer = self._connect()
            self._prepare(version, make)
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from error

    def close(self) -> None:
        """Close every connection; reads under way must have ended."""
        while not self._idle.empty():
            self._idle.get().close()
        self._writer.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection whose reads all see one and the same state. Raises StoreError when the file is damaged."""
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            connection = self._connect()
        try:
            connection.execute("BEGIN")
            yield connection
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from error
        finally:
            connection.rollback()
            self._idle.put(connection)

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """Yield a connection in a transaction; a `durable` one, and all before it, are on the disk at its end."""
        with self._alone():
            if durable is not self._durable:
                self._writer.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._durable = durable
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                yield self._writer
                self._writer.commit()
            except BaseException:  # whatever broke in: the transaction must not stay open
                self._writer.rollback()
                raise

    def purge(self, before: str = "") -> None:
        """Let no page of the file, or of the log beside it, hold what was removed; `before` is executed first."""
        with self._alone():
            if before:
                self._writer.execute(before)
            self._writer.execute("PRAGMA wal_checkpoint (TRUNCATE)")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._write_lock:
            try:
                yield
            except sqlite3.OperationalError as error:
                raise StoreFull(f"{self.path} cannot be written: {error}", "make room there, then repeat") from error
            except sqlite3.DatabaseError as error:
                if type(error) is sqlite3.DatabaseError:  # not one of its kinds, which are a caller's faults
                    raise self._damaged(error) from error
                raise

    def _damaged(self, error: sqlite3.DatabaseError) -> StoreError:
        return StoreError(f"{self.path}: {error}", self._remedy)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA cache_size = -65536")
        connection.execute("PRAGMA mmap_size = 1073741824")
        return connection

    def _prepare(self, version: int, make: Callable[[int], str]) -> None:
        found = self._writer.execute("PRAGMA user_version").fetchone()[0]
        if found > version:
            raise StoreError(
                f"{self.path}: store version {found}, this hocket reads {version}",
                "use the hocket that wrote it, or move it away and ingest again",
            )
        if found < version:
            self._writer.executescript(f"BEGIN;{make(found)}PRAGMA user_version = {version};COMMIT;")
