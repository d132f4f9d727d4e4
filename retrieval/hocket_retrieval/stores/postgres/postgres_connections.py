"""Connections to a PostgreSQL server: each statement has a deadline, and each error a remedy."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import Connection, errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from hocket_bus.errors import Unavailable

from ...errors import StoreError, StoreFull

CONNECT_S = 10
DEADLINES = """
SET statement_timeout = '30s'; SET lock_timeout = '20s'; SET idle_in_transaction_session_timeout = '10min';
"""
_NAMES = "SET search_path = hocket, public; SET client_min_messages = 'warning'"
_FULL = (errors.DiskFull, errors.OutOfMemory, errors.ConfigurationLimitExceeded, errors.ReadOnlySqlTransaction)
_AWAY = (errors.QueryCanceled, errors.LockNotAvailable, errors.OperationalError, errors.InterfaceError)


class Connections:
    """The connections of one process: as many as are used at a time. Any thread may use them."""

    def __init__(self, conninfo: str) -> None:
        """Check the connection string. Raises StoreError where it is none, or has a password in it."""
        try:
            parts = {"connect_timeout": str(CONNECT_S), "application_name": "hocket", **conninfo_to_dict(conninfo)}
        except psycopg.ProgrammingError as error:
            raise StoreError(f"the store's place is not a connection string: {_line(error)}", _WRITTEN) from error
        if parts.get("password"):
            remedy = "move it to ~/.pgpass or the file that PGPASSFILE names"
            raise StoreError("the store's place contains a password, which others may read there", remedy)
        self._conninfo = make_conninfo("", **parts)
        self.place = f"{parts.get('dbname') or 'the database'} on {parts.get('host') or 'this machine'}"
        self._idle: queue.SimpleQueue[Connection[Any]] = queue.SimpleQueue()

    def close(self) -> None:
        """Close the idle connections."""
        while not self._idle.empty():
            self._idle.get().close()

    @contextmanager
    def one(self) -> Iterator[Connection[Any]]:
        """Yield a connection, outside of any transaction. Raises StoreError, StoreFull, Unavailable."""
        with self._failing():
            connection = self._awake() or self._new()
            try:
                yield connection
            finally:
                if connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
                    self._idle.put(connection)
                else:  # broken, or left in the middle
                    connection.close()

    def _awake(self) -> Connection[Any] | None:
        """Return an idle connection that the server has not closed meanwhile; None if there is none."""
        while not self._idle.empty():
            connection = self._idle.get()
            try:
                connection.execute("SELECT 1")
            except psycopg.OperationalError:
                connection.close()
            else:
                return connection
        return None

    def _new(self) -> Connection[Any]:
        # A prepared statement would have one plan for small folders and large ones.
        connection: Connection[Any] = Connection.connect(self._conninfo, autocommit=True, prepare_threshold=None)
        connection.execute(f"{DEADLINES}{_NAMES}".encode())
        return connection

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except _FULL as error:
            raise StoreFull(f"{self.place} is full: {_line(error)}", "make room there, then repeat") from error
        except _AWAY as error:
            raise Unavailable(
                f"{self.place}: {_line(error)}", "check that the server runs and accepts this user"
            ) from error
        except errors.InsufficientPrivilege as error:
            raise StoreError(f"{self.place}: {_line(error)}", "make this user the database's owner") from error
        except psycopg.Error as error:
            raise StoreError(f"{self.place}: {_line(error)}", "look at the server's log") from error


_WRITTEN = "write it as postgresql://user@host/database"


def _line(error: psycopg.Error) -> str:
    return " ".join(str(error).split())[:200]
