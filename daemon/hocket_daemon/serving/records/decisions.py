"""Decision records: what a daemon decided for each request, from which figures, and what came of it.

One small SQLite file, written on a thread of its own; the newest records are kept. `hocket explain` reads it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import structlog

from hocket_bus import as_json
from hocket_bus.errors import BadConfiguration, BadRequest, HocketError, Unavailable

from ...database import rows_of, written
from ..mode import Facts

MAX_RECORDS = 2_000
MAX_WAITING = 256  # on their way to the file; more are dropped: a record is worth no memory without end

_TABLE = "CREATE TABLE IF NOT EXISTS decisions (id TEXT PRIMARY KEY, at TEXT, mode TEXT, record TEXT) WITHOUT ROWID"
_PUT = "INSERT OR REPLACE INTO decisions VALUES (?, ?, ?, ?)"
_CUT = "DELETE FROM decisions WHERE id NOT IN (SELECT id FROM decisions ORDER BY at DESC LIMIT ?)"
_LAST = "SELECT * FROM decisions ORDER BY at DESC LIMIT ?"
_NAMED = "SELECT * FROM decisions WHERE substr(id, 1, length(?1)) = ?1 ORDER BY at DESC LIMIT 2"

log = structlog.get_logger(__name__)


class DecisionRecord(NamedTuple):
    """The record of one request; `id` is its number in hexadecimal digits."""

    id: str
    at: str
    mode: str
    record: Facts


class Decisions:
    """The store of records, in a file or nowhere. Only its own thread waits for the disk."""

    def __init__(self, path: Path | None, max_records: int = MAX_RECORDS) -> None:
        self._path = path
        self._max = max_records
        self._waiting = 0
        self._failing = False
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="decisions")

    def keep(self, number: bytes, mode: str, record: Callable[[], Facts]) -> None:
        """Call `record` now, and write down its result soon."""
        if self._path is None or self._waiting >= MAX_WAITING:
            return
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        decision = DecisionRecord(number.hex(), at, mode, record())
        self._waiting += 1
        self._writer.submit(self._write, self._path, decision)

    def find(self, number: bytes, found: Callable[[DecisionRecord | HocketError], None]) -> None:
        """Read a record once all earlier ones are written; `found` is called on another thread."""
        self._writer.submit(lambda: found(self._found(number.hex())))

    def _found(self, number: str) -> DecisionRecord | HocketError:
        try:
            if self._path is None:
                return Unavailable("this daemon keeps no records", "set decisions in its configuration")
            return named(self._path, number)
        except HocketError as error:
            return error

    def close(self) -> None:
        """Finish writing what is pending."""
        self._writer.shutdown()

    def _write(self, path: Path, decision: DecisionRecord) -> None:
        try:
            with written(path, _TABLE) as database:
                database.execute(_PUT, (*decision[:3], as_json.text(decision.record)))
                database.execute(_CUT, (self._max,))
            self._failing = False
        except (OSError, sqlite3.Error, BadConfiguration, TypeError, ValueError) as error:  # by JSON: the last two
            if not self._failing:
                log.warning("decision records cannot be written", file=str(path), error=str(error))
            self._failing = True
        finally:
            self._waiting -= 1


def last(path: Path, number: int) -> list[DecisionRecord]:
    """Return the newest records, the newest first. Raises Unavailable where there is no file that can be read."""
    return _read(path, _LAST, number)


def named(path: Path, prefix: str) -> DecisionRecord:
    """Return the record whose number begins with `prefix`.

    Raises BadRequest unless there is exactly one, Unavailable as `last`.
    """
    found = _read(path, _NAMED, prefix.lower())
    if not found:
        raise BadRequest(f"no request '{prefix}' is recorded", "see the latest: hocket explain --list")
    if len(found) > 1:
        raise BadRequest(f"several requests begin with '{prefix}'", "give more digits of its number")
    return found[0]


def forget(path: Path, ids: Sequence[str] | None) -> int:
    """Remove the records with these numbers, or all for None, and their text from the file; return how many.

    Raises Unavailable where there is no file, or it cannot be written.
    """
    if not path.exists():
        raise Unavailable(f"nothing is recorded in {path}", "there is nothing to forget")
    try:
        with written(path, _TABLE) as database:
            database.execute("PRAGMA secure_delete = ON")
            database.execute("PRAGMA journal_mode = MEMORY")  # a journal would hold the pages as they were
            if ids is None:
                return database.execute("DELETE FROM decisions").rowcount
            return database.executemany("DELETE FROM decisions WHERE id = ?", [(each,) for each in ids]).rowcount
    except (OSError, sqlite3.Error, BadConfiguration) as error:
        raise Unavailable(f"{path} cannot be written: {error}", "check the file's owner, then try again") from error


def _read(path: Path, query: str, value: str | int) -> list[DecisionRecord]:
    if not path.exists():
        raise Unavailable(
            f"nothing is recorded in {path}", "ask something first; set decisions in the daemon's configuration"
        )
    try:
        rows = rows_of(path, "decisions", query, [value])
        return [DecisionRecord(number, at, mode, json.loads(record)) for number, at, mode, record in rows]
    except (sqlite3.Error, ValueError) as error:
        raise Unavailable(f"{path} cannot be read: {error}", "move it away; the daemon starts a new one") from error
