"""The store of a laptop: one SQLite file that holds the truth, and a dense index beside it that is made from it.

A document appears, changes and goes in one transaction, so a reader sees complete documents only. Vectors are kept by
the digest of their text and embedder: an interrupted ingestion finds those already made, and equal texts share one.
One process at a time may have it.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ...errors import VectorsGone
from ...sqlite_file import SqliteFile
from ...text.heads import Placed, searched
from ...text.lexical import indexed, language_of
from ..outlines import outline_text
from ..records import Change, Document, Ids, NewChunk, OnStored, Vectors, parts_of, unobserved
from . import word_index
from .dense import DenseIndex
from .sqlite_moment import SqliteMoment, ids_of, state_of

SCHEMA_VERSION = 7
_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL, sha256 BLOB NOT NULL,
    recipe TEXT NOT NULL, chunks INTEGER NOT NULL, ingested_at REAL NOT NULL, text TEXT NOT NULL,
    language TEXT NOT NULL DEFAULT '', outline TEXT NOT NULL DEFAULT '');
CREATE TABLE vectors (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, vector BLOB NOT NULL);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL, vector INTEGER NOT NULL REFERENCES vectors (id), text TEXT NOT NULL,
    place TEXT NOT NULL DEFAULT '', UNIQUE (document, ordinal));
CREATE INDEX chunks_by_vector ON chunks (vector);
CREATE TRIGGER document_added AFTER INSERT ON documents BEGIN
    UPDATE facts SET value = value + 1 WHERE name = 'documents';
    UPDATE facts SET value = value + new.chunks WHERE name = 'chunks'; END;
CREATE TRIGGER document_removed AFTER DELETE ON documents BEGIN
    UPDATE facts SET value = value - 1 WHERE name = 'documents';
    UPDATE facts SET value = value - old.chunks WHERE name = 'chunks'; END;
INSERT INTO facts VALUES ('generation', '0'), ('documents', '0'), ('chunks', '0');
"""


_FROM_1_TO_4 = """
DROP TRIGGER IF EXISTS chunk_added;
DROP TRIGGER IF EXISTS chunk_removed;
DROP TABLE IF EXISTS words;
ALTER TABLE documents ADD COLUMN language TEXT NOT NULL DEFAULT '';
"""
_FROM_5 = """
ALTER TABLE documents ADD COLUMN outline TEXT NOT NULL DEFAULT '';
ALTER TABLE chunks ADD COLUMN place TEXT NOT NULL DEFAULT '';
"""
# Until version 6 the queue and the graph were in this file: see earlier.py.
_FROM_6 = """
DROP TRIGGER IF EXISTS chunk_to_read;
DROP TRIGGER IF EXISTS chunk_gone;
DROP TABLE IF EXISTS queue;
DROP TABLE IF EXISTS changed;
DROP TABLE IF EXISTS stated;
DROP TABLE IF EXISTS fallen;
DROP TABLE IF EXISTS mentions;
DROP TABLE IF EXISTS pending;
DROP TABLE IF EXISTS gone;
DROP TABLE IF EXISTS spellings;
DROP TABLE IF EXISTS entities;
DROP TABLE IF EXISTS subgraphs;
"""
_NONE = np.empty(0, dtype=np.int64)


class SqliteStore:
    """The documents in a folder, with vectors of `dimension` by the embedder `fingerprint`: see DocumentStore."""

    def __init__(self, folder: Path, fingerprint: str, dimension: int) -> None:
        """Open, or make, the store. Raises StoreError when it is damaged or of another version."""
        remedy = "move its folder away and ingest the documents again"
        self._file = SqliteFile(folder / "documents.sqlite", SCHEMA_VERSION, _steps, remedy)
        self._changing = threading.Lock()  # file and index change together
        with self._file.writing(durable=True) as connection:
            word_index.renew(connection)
            # A new store has none yet, and neither has one that an earlier hocket wrote.
            connection.execute("INSERT OR IGNORE INTO facts VALUES ('identity', hex(randomblob(8)))")
        self._index = DenseIndex(folder, fingerprint, dimension)
        with self.moment() as moment:
            self._index.open(moment.state(), moment.totals()[1], moment.vectors(dimension))

    def close(self) -> None:
        """Close every connection; reads under way must have ended."""
        self._file.close()

    def __enter__(self) -> SqliteStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def moment(self) -> Iterator[SqliteMoment]:
        """Yield a SqliteMoment, whose reads all see one state of the documents. Raises StoreError if damaged."""
        with self._file.reading() as connection:
            yield SqliteMoment(connection, self._index)

    def put_vectors(self, digests: Sequence[bytes], vectors: Vectors) -> None:
        """Keep the vectors of texts, rows of `vectors` by digest; known digests are left as they are."""
        rows = zip(digests, (row.tobytes() for row in vectors), strict=True)
        with self._file.writing() as connection:
            connection.executemany("INSERT OR IGNORE INTO vectors (digest, vector) VALUES (?, ?)", rows)

    def put_document(self, document: Document, chunks: Sequence[NewChunk], on_stored: OnStored = unobserved) -> Change:
        """Add the document, in place of its old version if there is one. The vectors of all chunks must be stored."""
        language = language_of(document.text)

        def put(connection: sqlite3.Connection) -> Change:
            removed = _delete(connection, document.name)
            digests = [chunk.digest for chunk in chunks]
            if SqliteMoment(connection, self._index).missing(digests):
                raise VectorsGone(document.name)
            cursor = connection.execute(
                "INSERT INTO documents (name, title, text, sha256, recipe, outline, chunks, ingested_at, language)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*document[:5], outline_text(document.outline), len(chunks), time.time(), language),
            )
            added = _NONE
            for part in parts_of(chunks):
                ids = _add_chunks(connection, cursor.lastrowid, len(added), part)
                placed = (Placed(document.name, document.title, new.place, new.text) for new in part)
                words = [indexed(searched(each), language) for each in placed]
                word_index.add(connection, zip(ids.tolist(), words, strict=True))
                added = np.concatenate([added, ids])
                on_stored(len(added))
            return Change(removed, added, _next_state(connection))

        return self._change(put)

    def remove(self, names: Sequence[str]) -> Change:
        """Remove documents; unknown names are passed over."""

        def remove(connection: sqlite3.Connection) -> Change:
            removed = [_delete(connection, name) for name in names]
            return Change(np.concatenate([_NONE, *removed]), _NONE, _next_state(connection))

        return self._change(remove)

    def sweep(self) -> None:
        """Drop vectors that no chunk uses; not while an ingestion has stored vectors and not yet their document."""
        with self._file.writing() as connection:
            connection.execute("DELETE FROM vectors WHERE id NOT IN (SELECT vector FROM chunks)")

    def purge(self) -> None:
        """Let no page of the file, or of the log beside it, hold text that was removed."""
        # The index of words keeps a removed one in its old segments until they are merged.
        self._file.purge("INSERT INTO words (words) VALUES ('optimize')")

    def sync(self) -> None:
        """Let all that was written outlive a power cut."""
        with self._file.writing(durable=True) as connection:
            connection.execute("UPDATE facts SET value = value WHERE name = 'generation'")

    def save(self) -> None:
        """Save the dense index, which would else be made anew at the next start."""
        self._index.save()

    def _change(self, write: Callable[[sqlite3.Connection], Change]) -> Change:
        """Make a change, and let the dense index follow before the next one."""
        with self._changing:
            with self._file.writing() as connection:
                change = write(connection)
            with self.moment() as moment:
                span = (int(change.added[0]), int(change.added[-1])) if len(change.added) else (1, 0)
                self._index.change(change.removed, moment.vectors(self._index.dimension, *span), change.state)
            return change


def _steps(version: int) -> str:
    """Return the SQL that leads from an earlier version of the file, which earlier.py has migrated, to this one."""
    if not version:
        return _SCHEMA + word_index.SCHEMA
    words = _FROM_1_TO_4 + word_index.SCHEMA if version <= 4 else ""
    return words + (_FROM_5 if version <= 5 else "") + _FROM_6


def _delete(connection: sqlite3.Connection, name: str) -> Ids:
    ids = word_index.remove(connection, name)
    connection.execute("DELETE FROM documents WHERE name = ?", (name,))
    return ids


def _add_chunks(connection: sqlite3.Connection, document: int | None, first: int, chunks: Sequence[NewChunk]) -> Ids:
    """Add chunks of a document, from the ordinal `first` on; return their ids."""
    connection.executemany(
        "INSERT INTO chunks (document, ordinal, vector, text, place)"
        " VALUES (?, ?, (SELECT id FROM vectors WHERE digest = ?), ?, ?)",
        ((document, ordinal, new.digest, new.text, new.place) for ordinal, new in enumerate(chunks, first)),
    )
    sql = "SELECT id FROM chunks WHERE document = ? AND ordinal >= ? ORDER BY ordinal"
    return ids_of(connection.execute(sql, (document, first)))


def _next_state(connection: sqlite3.Connection) -> str:
    connection.execute("UPDATE facts SET value = value + 1 WHERE name = 'generation'")
    connection.execute("UPDATE facts SET value = hex(randomblob(8)) WHERE name = 'identity'")
    return state_of(connection)
