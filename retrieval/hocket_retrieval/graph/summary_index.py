"""The cloud's index of devices' summaries: one SQLite file beside the document store, searched in memory.

A summary's score is the cosine of question and summary, plus the share of the question's telling words that it has,
each by how few of the summaries have it: names find what meaning blurs.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket_bus.messages import MAX_SUMMARIES
from hocket_bus.trust.private import keep_private

from ..embedding.embedder import Embedder
from ..errors import QueryError, StoreError
from ..text.lexical import telling_words, words

WORDS_WEIGHT = 0.5  # of the shared words, beside a cosine
_SCHEMA = """
CREATE TABLE IF NOT EXISTS devices (name TEXT PRIMARY KEY, store TEXT NOT NULL, kept_at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS summaries (
    device TEXT NOT NULL REFERENCES devices (name) ON DELETE CASCADE, id INTEGER NOT NULL, version INTEGER NOT NULL,
    text TEXT NOT NULL, embedder TEXT NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (device, id)) WITHOUT ROWID;
"""
_PUT = "INSERT OR REPLACE INTO summaries VALUES (?, ?, ?, ?, ?, ?)"


class Summary(NamedTuple):
    """A device's summary of a subgraph."""

    id: int
    version: int
    text: str


class Match(NamedTuple):
    """A summary that matches a question."""

    device: str
    subgraph: int
    score: float


@dataclass(frozen=True, slots=True)
class _Device:
    """A device's summaries as they are searched: unit vectors [summaries, dimension], and each one's words."""

    ids: list[int]
    vectors: NDArray[np.float32]
    words: list[frozenset[str]]


class SummaryIndex:
    """The index of devices' summaries. Any thread may call it; changes take turns."""

    def __init__(self, path: Path, embedder: Embedder, now: Callable[[], float] = time.time) -> None:
        """Open, or make, the file. `now` is the time of day in seconds. Raises StoreError when it is damaged."""
        keep_private(path)
        self._embedder = embedder
        self._now = now
        self._lock = threading.Lock()
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            for pragma in ("secure_delete = ON", "foreign_keys = ON"):
                self._database.execute(f"PRAGMA {pragma}")
            self._database.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            self._database.close()
            raise StoreError(f"{path}: {error}", "move it away, and start again") from error
        self._loaded: dict[str, _Device] = {}

    def close(self) -> None:
        """Close the file; no method may be called afterwards."""
        self._database.close()

    def keep(self, device: str, store: str, summaries: Sequence[Summary], dropped: Collection[int] = ()) -> None:
        """Store new summaries or versions, and delete `dropped` ones; those of another `store` replace all of a device.

        Raises QueryError where a device has more than MAX_SUMMARIES.
        """
        vectors = self._embedded([summary.text for summary in summaries])
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            self._greet(device, store)
            self._database.executemany(
                "DELETE FROM summaries WHERE device = ? AND id = ?", ((device, id) for id in dropped)
            )
            rows = zip(summaries, vectors, strict=True)
            mark = self._embedder.fingerprint
            self._database.executemany(
                _PUT, ((device, *each, mark, vector.astype(np.float16).tobytes()) for each, vector in rows)
            )
            self._check_room(device)
        if summaries or dropped:
            self._forget_loaded(device)

    def drop(self, device: str) -> None:
        """Forget a device."""
        with self._lock, self._database:
            self._database.execute("DELETE FROM devices WHERE name = ?", (device,))
        self._forget_loaded(device)

    def expire(self, devices: Collection[str], keep_s: float) -> list[str]:
        """Forget the devices that are not among these, or stored nothing for `keep_s` seconds; return their names."""
        with self._lock:
            known = self._database.execute("SELECT name, kept_at FROM devices").fetchall()
        gone = [name for name, kept_at in known if name not in devices or self._now() - kept_at > keep_s]
        for name in gone:
            self.drop(name)
        return gone

    def held(self, device: str) -> list[tuple[int, int]]:
        """Return id and version of the stored summaries of a device."""
        with self._lock:
            rows = self._database.execute("SELECT id, version FROM summaries WHERE device = ? ORDER BY id", (device,))
            return [(id, version) for id, version in rows]

    def texts(self, device: str, after: int, limit: int) -> list[Summary]:
        """Return the stored summaries of a device, with their texts, after an id."""
        query = "SELECT id, version, text FROM summaries WHERE device = ? AND id > ? ORDER BY id LIMIT ?"
        with self._lock:
            return [Summary(*row) for row in self._database.execute(query, (device, after, limit))]

    def match(self, query: str, devices: Sequence[str]) -> list[Match]:
        """The best summary of each of these devices, best first."""
        searched = {name: device for name in devices if (device := self._device(name)).ids}
        if not searched:
            return []
        vector, asked = self._embedder.query(query), telling_words(query)
        rarity = _rarity(asked, [each for device in searched.values() for each in device.words])
        found = [
            Match(name, id, float(cosine + WORDS_WEIGHT * _share(rarity, known)))
            for name, device in searched.items()
            for id, cosine, known in zip(device.ids, device.vectors @ vector, device.words, strict=True)
        ]
        ranked = sorted(found, key=lambda each: (-each.score, each.device, each.subgraph))
        best: dict[str, Match] = {}
        for each in ranked:
            best.setdefault(each.device, each)
        return list(best.values())

    def _embedded(self, texts: Sequence[str]) -> Iterable[NDArray[np.float32]]:
        return self._embedder.documents(texts) if texts else ()

    def _greet(self, device: str, store: str) -> None:
        known = self._database.execute("SELECT store FROM devices WHERE name = ?", (device,)).fetchone()
        if known is not None and known[0] != store:
            self._database.execute("DELETE FROM devices WHERE name = ?", (device,))
            self._forget_loaded(device)
        self._database.execute(
            "INSERT INTO devices VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET kept_at = excluded.kept_at",
            (device, store, self._now()),
        )

    def _check_room(self, device: str) -> None:
        count = self._database.execute("SELECT count(*) FROM summaries WHERE device = ?", (device,)).fetchone()[0]
        if count > MAX_SUMMARIES:
            raise QueryError(
                f"{count} summaries of one device exceed the limit of {MAX_SUMMARIES}",
                "raise graph.entities under [expert] there",
            )

    def _forget_loaded(self, device: str) -> None:
        self._loaded.pop(device, None)

    def _device(self, name: str) -> _Device:
        loaded = self._loaded.get(name)
        if loaded is None:
            with self._lock:
                loaded = self._loaded[name] = self._load(name)
        return loaded

    def _load(self, name: str) -> _Device:
        query = "SELECT id, text, embedder, vector FROM summaries WHERE device = ? ORDER BY id"
        rows = self._database.execute(query, (name,)).fetchall()
        mark = self._embedder.fingerprint
        other = [row for row in rows if row[2] != mark]  # of an embedder that was configured before
        new = dict(zip((row[0] for row in other), self._embedded([row[1] for row in other]), strict=True))
        vectors = [new[row[0]] if row[0] in new else np.frombuffer(row[3], np.float16) for row in rows]
        stacked = np.array(vectors, np.float32).reshape(len(rows), self._embedder.dimension)
        return _Device([row[0] for row in rows], stacked, [frozenset(words(row[1])) for row in rows])


def _rarity(words: Sequence[str], texts: Sequence[frozenset[str]]) -> dict[str, float]:
    """Return the weight of each word, by how few of the texts have it."""
    counts = {word: sum(word in text for text in texts) for word in words}
    return {word: log(1 + len(texts) / (1 + count)) for word, count in counts.items()}


def _share(rarity: dict[str, float], words: frozenset[str]) -> float:
    total = sum(rarity.values())
    return sum(weight for word, weight in rarity.items() if word in words) / total if total else 0.0
