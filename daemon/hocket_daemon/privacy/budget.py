"""Bounds on the bits that tokens disclose of each document in a day: a privacy filter, in the ledger's file.

What a token can tell at most is charged before anything of it leaves (`engine/sampling/bounded.py`), and given back as
far as the token then says less. A document that may tell no more is left out, as if it had not been found. So over a
day the odds that it was read move by no more than the bound, whoever asks and however the questions follow from the
answers: every transcript moves them by the sum of what its tokens do, and behind the bound by nothing (for charges that
depend on what was seen before, Rogers et al. 2016, arXiv 1605.08294).
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from hocket_bus.errors import BadConfiguration, Unavailable

from ..database import written

RESERVE = 1 / 16  # of the bound, written down ahead of what is charged, so that a token seldom waits for the disk
DAYS = 31  # that are known; older ones say nothing of a bound for a day
_TABLE = """CREATE TABLE IF NOT EXISTS disclosed (
    day TEXT, document BLOB, bits REAL NOT NULL, PRIMARY KEY (day, document)) WITHOUT ROWID"""
_SET = "INSERT INTO disclosed VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET bits = excluded.bits"
_DROP = "DELETE FROM disclosed WHERE day NOT IN (SELECT DISTINCT day FROM disclosed ORDER BY day DESC LIMIT ?)"
_OF_DAY = "SELECT document, bits FROM disclosed WHERE day = ?"
_SLACK = 1e-9  # of a bit: what sums of many charges are rounded by


def today() -> str:
    """Return the day as the ledger has it, in this machine's time."""
    return time.strftime("%Y-%m-%d")


class Charge(NamedTuple):
    """The day of a charge, and the documents whose bound it would exceed; if there are none, all are charged."""

    day: str
    refused: frozenset[str]


class PrivacyBudget:
    """The bits charged to each document, one day at a time; from any thread. The file has digests of names, no names.

    The file never has less than what was charged, so a daemon that is killed may disclose no more than one that ends.
    """

    def __init__(self, path: Path | None, bound_bits: float, day: Callable[[], str] = today) -> None:
        """Read the day's bits from `path`, the ledger's file; None: they are known only until the daemon ends.

        Raises Unavailable where the file cannot be read: an empty one in its place would allow everything anew.
        """
        self._path = path
        self._bound = bound_bits
        self._day_now = day
        self._lock = threading.Lock()
        self._begin(day())

    def left(self, document: str) -> float:
        """Return the bits that this document may still disclose today. Raises Unavailable."""
        with self._lock:
            self._turn_day()
            return max(0.0, self._bound - self._charged.get(_digest(document), 0.0))

    def charge(self, bits: Mapping[str, float]) -> Charge:
        """Charge each document so many bits of today: all of them, or none where one would exceed its bound.

        Raises Unavailable where it cannot be written down, and has charged nothing.
        """
        with self._lock:
            self._turn_day()
            wanted = {_digest(name): each for name, each in bits.items()}
            charged = {key: self._charged.get(key, 0.0) + each for key, each in wanted.items()}
            refused = frozenset(name for name in bits if charged[_digest(name)] > self._bound + _SLACK)
            if not refused:
                self._reserve({key: each for key, each in charged.items() if each > self._reserved.get(key, 0.0)})
                self._charged |= charged
            return Charge(self._day, refused)

    def refund(self, day: str, bits: Mapping[str, float]) -> None:
        """Give back what was charged on a day and not disclosed; charges of a day that is over stay."""
        with self._lock:
            for key, each in ((_digest(name), each) for name, each in bits.items() if day == self._day):
                self._charged[key] = max(0.0, self._charged.get(key, 0.0) - each)

    def write(self) -> None:
        """Write down what was charged, and no more: what was written ahead may be charged again after a restart.

        Raises Unavailable; then what the file has is too much, and not too little.
        """
        with self._lock:
            self._put(dict(self._charged))

    def _reserve(self, short: Mapping[bytes, float]) -> None:
        if short:
            self._put({key: min(self._bound, each + RESERVE * self._bound) for key, each in short.items()})

    def _put(self, bits: dict[bytes, float]) -> None:
        if self._path is not None and bits:
            try:
                with written(self._path, _TABLE) as database:
                    database.executemany(_SET, [(self._day, key, each) for key, each in bits.items()])
                    database.execute(_DROP, (DAYS,))
            except (OSError, sqlite3.Error, BadConfiguration) as error:
                text = f"the count of today's disclosure cannot be written to {self._path}: {error}"
                raise Unavailable(text, "make the ledger's folder writable for the device daemon") from error
        self._reserved |= bits

    def _turn_day(self) -> None:
        day = self._day_now()
        if day != self._day:
            self._begin(day)

    def _begin(self, day: str) -> None:
        self._charged: dict[bytes, float] = _read(self._path, day)
        self._reserved = dict(self._charged)
        self._day = day


def _read(path: Path | None, day: str) -> dict[bytes, float]:
    if path is None or not path.exists():
        return {}
    try:
        with written(path, _TABLE) as database:
            return dict(database.execute(_OF_DAY, (day,)).fetchall())
    except (OSError, sqlite3.Error, BadConfiguration) as error:
        text = f"{path} cannot be read: {error}"
        raise Unavailable(text, "move it away; the count of today's disclosure is then lost") from error


def _digest(document: str) -> bytes:
    return hashlib.blake2b(document.encode("utf-8", "surrogatepass"), digest_size=16).digest()
