"""The account of what a device's words disclosed of each document, in bits, by day and peer, in the ledger's file.

A word is charged when it is drawn, before anything of it leaves, and given back where it does not leave
(`engine/sampling/capped.py`). The file never has less than what was charged, so a daemon that is killed may disclose no
more than one that ends. Bounds are of all peers together, as these could compare notes.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from math import inf
from pathlib import Path
from typing import NamedTuple

from hocket_bus.errors import BadConfiguration, Unavailable

from ..database import rows_of, written
from .budget import today

BEGIN_BITS = 16.0  # that a document has left at least when an answer begins: less would end within a fact
_BEGIN_PART = 0.25  # of a bound, if that is less
RESERVE_BITS = 8.0  # written down ahead of what is charged, at most, so that a word seldom waits for the disk
_TABLE = """CREATE TABLE IF NOT EXISTS words_disclosed (
    day TEXT, peer TEXT, document TEXT, bits REAL NOT NULL, PRIMARY KEY (day, peer, document)) WITHOUT ROWID"""
_SET = "INSERT INTO words_disclosed VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET bits = excluded.bits"
_ALL = "SELECT day, peer, document, bits FROM words_disclosed ORDER BY day, peer, document"


class DisclosureBounds(NamedTuple):
    """The most bits that may leave of each document, in a day and ever; 0: no bound."""

    a_day: float = 0.0
    a_document: float = 0.0


class Disclosed(NamedTuple):
    """The bits that one peer was told of a document on one day."""

    day: str
    peer: str
    document: str
    bits: float


class DocumentDisclosed(NamedTuple):
    """The bits that were disclosed of a document: today, ever, by peer, and the last day."""

    document: str
    today: float
    total: float
    peers: dict[str, float]
    last: str


class Charged(NamedTuple):
    """The key of a charge: when it was made, and for which peer and document."""

    day: str
    peer: str
    document: str


class DisclosureAccount:
    """The bits of every document; from any thread."""

    def __init__(self, path: Path | None, bounds: DisclosureBounds, day: Callable[[], str] = today) -> None:
        """Read what was disclosed from `path`, the ledger's file; None: it is known only until the daemon ends.

        Raises Unavailable where the file cannot be read: an empty one in its place would allow everything anew.
        """
        self._path, self._bounds, self._day = path, bounds, day
        self._lock = threading.Lock()
        self._bits: dict[Charged, float] = {}
        self._of_day: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._of_document: defaultdict[str, float] = defaultdict(float)
        for each in _read(path):
            self._add(Charged(*each[:3]), each.bits)
        self._reserved = dict(self._bits)

    def left(self, document: str) -> float:
        """Return the bits that this document may still disclose; infinite where it has no bound."""
        with self._lock:
            return self._left(document)

    def may_begin(self, document: str) -> bool:
        """Tell whether a document has enough bits left for an answer to begin with it."""
        bounds = [bound for bound in self._bounds if bound]
        return self.left(document) >= min([BEGIN_BITS, *(bound * _BEGIN_PART for bound in bounds)])

    def entries(self) -> list[Disclosed]:
        """Return what was charged until now."""
        with self._lock:
            return [Disclosed(*key, bits) for key, bits in self._bits.items()]

    def charge(self, peer: str, bits: Mapping[str, float]) -> str:
        """Charge each document so many bits, which are within what is left; return the day of the charge.

        Raises Unavailable where it cannot be written down, and has charged nothing.
        """
        with self._lock:
            day = self._day()
            wanted = {Charged(day, peer, name): each for name, each in bits.items()}
            sums = {key: self._bits.get(key, 0.0) + each for key, each in wanted.items()}
            short = {key: each for key, each in sums.items() if each > self._reserved.get(key, 0.0)}
            if short:
                self._put({key: each + self._ahead(key.document, wanted[key]) for key, each in short.items()})
            for key, each in wanted.items():
                self._add(key, each)
        return day

    def refund(self, day: str, peer: str, bits: Mapping[str, float]) -> None:
        """Give back what was charged on a day and did not leave."""
        with self._lock:
            for name, each in bits.items():
                self._add(Charged(day, peer, name), -each)

    def write(self) -> None:
        """Write down what was charged, and no more: what was written ahead may be charged again after a restart.

        Raises Unavailable; then what the file has is too much, and not too little.
        """
        with self._lock:
            ahead = {key: each for key, each in self._bits.items() if each != self._reserved.get(key)}
            self._put(ahead)

    def facts(self) -> dict[str, str]:
        """Return the line of `hocket status`."""
        day = self._day()
        of_today = [each.bits for each in self.entries() if each.day == day and each.bits > 0]
        shown = f"{sum(of_today):.0f} bits of {len(of_today)} documents today (hocket audit --by document)"
        return {"disclosed by words": shown}

    def metrics(self) -> dict[str, float]:
        """Return the bits of all days, for programs."""
        return {"disclosed_bits": sum(each.bits for each in self.entries())}

    def _left(self, document: str) -> float:
        used = (self._of_day[self._day(), document], self._of_document[document])
        return min(
            [max(0.0, bound - each) for bound, each in zip(self._bounds, used, strict=True) if bound], default=inf
        )

    def _ahead(self, document: str, bits: float) -> float:
        """Return the bits to write down beyond a charge, up to the document's bound."""
        return max(0.0, min(RESERVE_BITS, self._left(document) - bits))

    def _add(self, key: Charged, bits: float) -> None:
        self._bits[key] = max(0.0, self._bits.get(key, 0.0) + bits)
        self._of_day[key.day, key.document] += bits
        self._of_document[key.document] += bits

    def _put(self, bits: dict[Charged, float]) -> None:
        if self._path is not None and bits:
            try:
                with written(self._path, _TABLE) as database:
                    database.executemany(_SET, [(*key, each) for key, each in bits.items()])
            except (OSError, sqlite3.Error, BadConfiguration) as error:
                text = f"the account of what words disclose cannot be written to {self._path}: {error}"
                raise Unavailable(text, "make the ledger's folder writable for the device daemon") from error
        self._reserved |= bits


def by_document(entries: Iterable[Disclosed], day: str) -> list[DocumentDisclosed]:
    """Return each document's sums, the most disclosed first; `day` is today."""
    rows = dict[str, DocumentDisclosed]()
    for each in entries:
        row = rows.get(each.document, DocumentDisclosed(each.document, 0.0, 0.0, {}, each.day))
        peers = row.peers | {each.peer: row.peers.get(each.peer, 0.0) + each.bits}
        of_today, last = row.today + each.bits * (each.day == day), max(row.last, each.day)
        rows[each.document] = DocumentDisclosed(each.document, of_today, row.total + each.bits, peers, last)
    return sorted(rows.values(), key=lambda row: (-row.total, row.document))


def by_day(entries: Iterable[Disclosed], most: int) -> dict[str, float]:
    """Return the bits of all documents on each of the last `most` days on which any left, oldest first."""
    days = defaultdict[str, float](float)
    for each in entries:
        days[each.day] += each.bits
    return dict(sorted(days.items())[-most:])


def read(path: Path) -> list[Disclosed]:
    """Return all that is written down, oldest first; none without a file. Raises Unavailable."""
    try:
        return [Disclosed(*row) for row in rows_of(path, "words_disclosed", _ALL)]
    except sqlite3.Error as error:
        raise Unavailable(f"{path} cannot be read: {error}", "move it away; the daemon starts a new one") from error


def _read(path: Path | None) -> list[Disclosed]:
    return [] if path is None else read(path)
