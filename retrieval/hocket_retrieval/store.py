"""The document store: one SQLite file (WAL) that holds the truth; everything beside it can be rebuilt from it.

A document appears, changes and goes in one transaction, so a reader sees complete documents only. Vectors are kept by
the digest of their text and embedder: an interrupted ingestion finds those already made, and equal texts share one.
A document whose `recipe` (embedder and chunk length) is not the store's own is stale. Knows no files and no models.

Reads may come from any thread, each with a connection of its own; writes take turns.
"""

from __future__ import annotations

import hashlib
import queue
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from hocket_bus.private import keep_private

from . import graph_tables as graph
from . import word_index
from .errors import StoreError, StoreFull
from .lexical import indexed, language_of
from .snapshot import Document, Ids, NewChunk, Queued, Snapshot, Vectors, ids_of, outline_text

SCHEMA_VERSION = 6
_BUSY_S = 30.0
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
CREATE TABLE queue (name TEXT PRIMARY KEY, root TEXT NOT NULL DEFAULT '', size INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0);
CREATE TRIGGER document_added AFTER INSERT ON documents BEGIN
    UPDATE facts SET value = value + 1 WHERE name = 'documents';
    UPDATE facts SET value = value + new.chunks WHERE name = 'chunks'; END;
CREATE TRIGGER document_removed AFTER DELETE ON documents BEGIN
    UPDATE facts SET value = value - 1 WHERE name = 'documents';
    UPDATE facts SET value = value - old.chunks WHERE name = 'chunks'; END;
INSERT INTO facts VALUES ('generation', '0'), ('documents', '0'), ('chunks', '0');
"""

_FROM_1 = """
ALTER TABLE queue ADD COLUMN root TEXT NOT NULL DEFAULT '';
ALTER TABLE queue ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
"""
_FROM_4 = """
DROP TRIGGER IF EXISTS chunk_added;
DROP TRIGGER IF EXISTS chunk_removed;
DROP TABLE IF EXISTS words;
ALTER TABLE documents ADD COLUMN language TEXT NOT NULL DEFAULT '';
"""

_FROM_5 = """
ALTER TABLE documents ADD COLUMN outline TEXT NOT NULL DEFAULT '';
ALTER TABLE chunks ADD COLUMN place TEXT NOT NULL DEFAULT '';
"""

Wanted = Literal["queue", "documents"]
_KNOWN_IN = {"queue": "SELECT 1 FROM queue WHERE name = ?", "documents": "SELECT 1 FROM documents WHERE name = ?"}
_NONE = np.empty(0, dtype=np.int64)


class Change(NamedTuple):
    """What a write did to the chunks: ids that went, ids that came, and the state that it led to."""

    removed: Ids
    added: Ids
    state: str


class Store:
    """The SQLite file at `path`. Close it, or use it as a context manager."""

    def __init__(self, path: Path) -> None:
        """Open, or make, the store. Raises StoreError when it is damaged or of another version."""
        self.path = path
        self._idle: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()
        self._write_lock = threading.Lock()
        keep_private(path)
        try:
            self._writer = self._connect()
            self._prepare()
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from error

    def close(self) -> None:
        """Close every connection; reads under way must have ended."""
        while not self._idle.empty():
            self._idle.get().close()
        self._writer.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- reading ----------------------------------------------------------------------------------------------------

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """All reads inside see one and the same state of the store. Raises StoreError when it is damaged."""
        with self.reading() as connection:
            yield Snapshot(connection)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The same, for tables of one's own."""
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

    # --- writing ----------------------------------------------------------------------------------------------------

    @contextmanager
    def write(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction; a `durable` one, and all before it, are on the disk at its end."""
        with self._writing():
            self._writer.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                yield self._writer
                self._writer.commit()
            except BaseException:  # whatever broke in: the transaction must not stay open
                self._writer.rollback()
                raise

    def enqueue(self, files: Iterable[Queued]) -> None:
        """Remember files to ingest; they stay until `dequeue`, whatever happens to the process or the machine."""
        with self.write(durable=True) as connection:
            connection.executemany(
                "INSERT INTO queue (name, root, size) VALUES (?, ?, ?) ON CONFLICT (name)"
                " DO UPDATE SET root = excluded.root, size = excluded.size, attempts = 0",
                (file[:3] for file in files),
            )

    def dequeue(self, name: str, *, durable: bool = False) -> None:
        """Forget a file: it is ingested, or cannot be. Once `durable`, all changes up to here outlive a power cut."""
        with self.write(durable=durable) as connection:
            connection.execute("DELETE FROM queue WHERE name = ?", (name,))

    def attempt(self, name: str) -> None:
        """A queued file is about to be read; who dies before `survived` has died of it, perhaps."""
        with self.write() as connection:
            connection.execute("UPDATE queue SET attempts = attempts + 1 WHERE name = ?", (name,))

    def survived(self, name: str) -> None:
        """It has been read, or refused."""
        with self.write() as connection:
            connection.execute("UPDATE queue SET attempts = 0 WHERE name = ?", (name,))

    def put_vectors(self, digests: Sequence[bytes], vectors: Vectors) -> None:
        """Keep the vectors of texts, rows of `vectors` by digest; known digests are left as they are."""
        rows = zip(digests, (row.tobytes() for row in vectors), strict=True)
        with self.write() as connection:
            connection.executemany("INSERT OR IGNORE INTO vectors (digest, vector) VALUES (?, ?)", rows)

    def put_document(self, document: Document, chunks: Sequence[NewChunk], wanted: Wanted | None = None) -> Change:
        """Add the document, in place of its old version if there is one.

        With `wanted`, nothing happens unless that table has the name still: it may have been removed meanwhile.
        """
        language = language_of(document.text)
        words = [indexed(chunk.text, language) for chunk in chunks]
        with self.write() as connection:
            if wanted and not connection.execute(_KNOWN_IN[wanted], (document.name,)).fetchone():
                return Change(_NONE, _NONE, Snapshot(connection).state())
            removed = _delete(connection, document.name)
            cursor = connection.execute(
                "INSERT INTO documents (name, title, text, sha256, recipe, outline, chunks, ingested_at, language)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*document[:5], outline_text(document.outline), len(chunks), time.time(), language),
            )
            key = cursor.lastrowid
            connection.executemany(
                "INSERT INTO chunks (document, ordinal, vector, text, place)"
                " VALUES (?, ?, (SELECT id FROM vectors WHERE digest = ?), ?, ?)",
                ((key, ordinal, new.digest, new.text, new.place) for ordinal, new in enumerate(chunks)),
            )
            added = ids_of(connection.execute("SELECT id FROM chunks WHERE document = ? ORDER BY ordinal", (key,)))
            word_index.add(connection, zip(added.tolist(), words, strict=True))
            return Change(removed, added, _next_state(connection))

    def remove(self, names: Sequence[str]) -> Change:
        """Remove documents, and names from the queue; unknown ones are passed over."""
        with self.write() as connection:
            removed = [_delete(connection, name) for name in names]
            connection.executemany("DELETE FROM queue WHERE name = ?", ((name,) for name in names))
            return Change(np.concatenate([_NONE, *removed]), _NONE, _next_state(connection))

    def sweep(self) -> None:
        """Drop vectors that no chunk uses. Not while an ingestion is between its vectors and its document."""
        with self.write() as connection:
            connection.execute("DELETE FROM vectors WHERE id NOT IN (SELECT vector FROM chunks)")

    def purge(self) -> None:
        """Let no page of the file, or of the log beside it, hold text that was removed."""
        with self._writing():
            # The index of words keeps a removed one in its old segments until they are merged.
            self._writer.execute("INSERT INTO words (words) VALUES ('optimize')")
            self._writer.execute("PRAGMA wal_checkpoint (TRUNCATE)")

    @contextmanager
    def _writing(self) -> Iterator[None]:
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
        return StoreError(f"{self.path}: {error}", "move its folder away and ingest the documents again")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA cache_size = -65536")
        connection.execute("PRAGMA mmap_size = 1073741824")
        return connection

    def _prepare(self) -> None:
        version = self._writer.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"{self.path}: store version {version}, this hocket reads {SCHEMA_VERSION}",
                "use the hocket that wrote it, or move it away and ingest again",
            )
        steps = {
            0: (_SCHEMA, graph.SCHEMA, graph.BY_ENGINES, word_index.SCHEMA),
            1: (_FROM_1, graph.SCHEMA, graph.BY_ENGINES, _FROM_4, word_index.SCHEMA, _FROM_5),
            2: (graph.SCHEMA, graph.BY_ENGINES, _FROM_4, word_index.SCHEMA, _FROM_5),
            3: (graph.BY_ENGINES, _FROM_4, word_index.SCHEMA, _FROM_5),
            4: (_FROM_4, word_index.SCHEMA, _FROM_5),
            5: (_FROM_5,),
        }
        if version in steps:
            self._make(*steps[version])
        with self.write(durable=True) as connection:
            word_index.renew(connection)
        # A new store has none yet, and neither has one that an earlier hocket wrote.
        self._writer.execute("INSERT OR IGNORE INTO facts VALUES ('identity', hex(randomblob(8)))")
        self._writer.execute("INSERT OR IGNORE INTO facts VALUES ('number', hex(randomblob(8)))")
        self.number: str = self._writer.execute("SELECT value FROM facts WHERE name = 'number'").fetchone()[0]

    def _make(self, *scripts: str) -> None:
        self._writer.executescript(f"BEGIN;{''.join(scripts)}PRAGMA user_version = {SCHEMA_VERSION};COMMIT;")


def digest(fingerprint: str, text: str) -> bytes:
    """The key of a text's vector under an embedder."""
    return hashlib.sha256(f"{fingerprint}\0{text}".encode()).digest()[:16]


def _delete(connection: sqlite3.Connection, name: str) -> Ids:
    sql = "SELECT c.id, c.text, d.language FROM chunks c JOIN documents d ON d.id = c.document WHERE d.name = ?"
    chunks = connection.execute(sql, (name,)).fetchall()
    word_index.remove(connection, chunks)
    connection.execute("DELETE FROM documents WHERE name = ?", (name,))
    return ids_of(chunks)


def _next_state(connection: sqlite3.Connection) -> str:
    connection.execute("UPDATE facts SET value = value + 1 WHERE name = 'generation'")
    connection.execute("UPDATE facts SET value = hex(randomblob(8)) WHERE name = 'identity'")
    return Snapshot(connection).state()
