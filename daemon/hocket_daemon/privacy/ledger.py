"""How much left this machine: bytes by day, peer, session and class of data, in one small SQLite file."""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path
from typing import NamedTuple

import structlog

from hocket_bus.errors import BadConfiguration, Unavailable

from ..database import read_only, written

MAX_ROWS = 50_000  # about 5 MB; beyond, the sessions of the oldest days become one line
MAX_PENDING = 10_000  # the same for what cannot be written
FOLDED = "older"

_TABLE = """CREATE TABLE IF NOT EXISTS sent (
    day TEXT, peer TEXT, session TEXT, class TEXT, messages INTEGER NOT NULL, bytes INTEGER NOT NULL,
    PRIMARY KEY (day, peer, session, class)) WITHOUT ROWID"""
_ADD = """INSERT INTO sent VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT
    DO UPDATE SET messages = messages + excluded.messages, bytes = bytes + excluded.bytes"""
_OLDEST = "SELECT min(day) FROM sent WHERE session NOT IN ('', ?)"
_OF_DAY = """SELECT day, peer, ?, class, sum(messages), sum(bytes) FROM sent
    WHERE day = ? AND session NOT IN ('', ?) GROUP BY peer, class"""
_DROP = "DELETE FROM sent WHERE day = ? AND session NOT IN ('', ?)"

log = structlog.get_logger(__name__)


class Entry(NamedTuple):
    """What left on one day for one peer in one session; `session` is empty for what belongs to the connection."""

    day: str
    peer: str
    session: str
    kind: str
    messages: int
    size_bytes: int


class Ledger:
    """Counts in memory, from any thread, and writes down what came together; without a file it keeps sums alone."""

    def __init__(self, path: Path | None) -> None:
        self.sums: dict[str, int] = {}  # bytes by class since the start
        self._path = path
        self._lock = threading.Lock()
        self._pending: dict[tuple[str, str, str], tuple[int, int]] = {}
        self._failing = False

    def count(self, peer: str, session: str, kind: str, size_bytes: int) -> None:
        """One message more."""
        with self._lock:
            self.sums[kind] = self.sums.get(kind, 0) + size_bytes
            if self._path is None:
                return
            if len(self._pending) >= MAX_PENDING:
                session = FOLDED if session else session
            messages, total = self._pending.get((peer, session, kind), (0, 0))
            self._pending[peer, session, kind] = messages + 1, total + size_bytes

    def write(self) -> None:
        """Write down what was counted. A file that cannot be written is logged once, and nothing is lost meanwhile."""
        with self._lock:
            pending, self._pending = self._pending, {}
        if self._path is None or not pending:
            return
        try:
            _add(self._path, pending)
            self._failing = False
        except (OSError, sqlite3.Error, BadConfiguration) as error:
            if not self._failing:
                log.warning("the ledger cannot be written", file=str(self._path), error=str(error))
            self._failing = True
            self._give_back(pending)

    def _give_back(self, pending: dict[tuple[str, str, str], tuple[int, int]]) -> None:
        with self._lock:
            for key, (messages, size_bytes) in self._pending.items():
                before = pending.get(key, (0, 0))
                pending[key] = before[0] + messages, before[1] + size_bytes
            self._pending = pending


def read(path: Path) -> list[Entry]:
    """All that is written down, oldest first; nothing where there is no file. Raises Unavailable."""
    if not path.exists():
        return []
    try:
        with read_only(path) as database:
            return [Entry(*row) for row in database.execute("SELECT * FROM sent ORDER BY day, peer, session, class")]
    except sqlite3.Error as error:
        raise Unavailable(f"{path} cannot be read: {error}", "move it away; the daemon begins a new one") from error


def _add(path: Path, pending: dict[tuple[str, str, str], tuple[int, int]]) -> None:
    day = time.strftime("%Y-%m-%d")
    with written(path, _TABLE) as database:
        database.executemany(_ADD, [(day, *key, *counted) for key, counted in pending.items()])
        while database.execute("SELECT count(*) FROM sent").fetchone()[0] > MAX_ROWS and _fold(database):
            pass


def _fold(database: sqlite3.Connection) -> bool:
    """Make one line a class of the oldest day's sessions; whether there were any."""
    (day,) = database.execute(_OLDEST, (FOLDED,)).fetchone()
    if day is None:
        return False
    folded = database.execute(_OF_DAY, (FOLDED, day, FOLDED)).fetchall()
    database.execute(_DROP, (day, FOLDED))
    database.executemany(_ADD, folded)
    return True
