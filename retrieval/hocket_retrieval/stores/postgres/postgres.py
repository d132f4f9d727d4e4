"""A store of documents in PostgreSQL with pgvector, which several daemons may share.

A document is written, replaced or removed in one transaction. Every such transaction changes the one row of `facts`
first, so writers take turns, each of them briefly: vectors are made before.
"""

from __future__ import annotations

import secrets
import struct
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
from psycopg import Connection

from ...errors import VectorsGone
from ...text.heads import Placed, searched
from ...text.lexical import RECIPE, Indexed, indexed, language_of
from .. import retention
from ..outlines import outline_text
from ..records import Change, Document, Ids, NewChunk, OnStored, Vectors, parts_of, unobserved
from . import postgres_moment
from .postgres_connections import Connections
from .postgres_moment import FORM, PLAIN, PostgresMoment, ids_of, quoted
from .postgres_schema import index_vectors, prepare

TABLES = ("documents", "chunks", "vectors", "words", "facts")
_TENDING = "6h"  # the longest that a statement of upkeep may take: an index of millions of vectors takes more than one
_NEW_VECTORS = "CREATE TEMP TABLE IF NOT EXISTS new_vectors (digest bytea, vector vector) ON COMMIT DELETE ROWS"
_POSITIONS = 255  # of one word in a tsvector
_NONE = np.empty(0, dtype=np.int64)


class PostgresStore:
    """The store in a database, in a schema named hocket; `conninfo` is a connection string without a password."""

    def __init__(self, conninfo: str, dimension: int) -> None:
        """Open, or make, the store. Raises StoreError where it has another dimension or version; Unavailable."""
        self._connections = Connections(conninfo)
        self._dimension = dimension
        self._own = secrets.token_hex(8)
        try:
            with self._connections.one() as connection:
                prepare(connection, dimension, self._connections.place)
            self._renew()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close every connection; reads under way must have ended."""
        self._connections.close()

    @contextmanager
    def moment(self) -> Iterator[PostgresMoment]:
        """Yield a PostgresMoment, whose reads all see one and the same state of the documents."""
        with self._connections.one() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield PostgresMoment(connection)

    def put_vectors(self, digests: Sequence[bytes], vectors: Vectors) -> None:
        """Keep the vectors of texts, rows of `vectors` by digest; known digests are left as they are."""
        # In one order for all, so that no two writers wait for each other.
        sql = """INSERT INTO vectors (digest, vector, made_by)
                 SELECT digest, vector, %s FROM pg_temp.new_vectors ORDER BY digest ON CONFLICT (digest) DO NOTHING"""
        with self._connections.one() as connection, connection.transaction():
            connection.execute(_NEW_VECTORS)
            with connection.cursor().copy("COPY pg_temp.new_vectors FROM STDIN (FORMAT BINARY)") as copy:
                copy.write(_copied(digests, vectors))
            connection.execute(sql, (self._own,))

    def put_document(self, document: Document, chunks: Sequence[NewChunk], on_stored: OnStored = unobserved) -> Change:
        """Add the document, in place of its old version if there is one. The vectors of all chunks must be stored.

        U+0000, which PostgreSQL does not store, becomes a space.
        """
        language = language_of(document.text)
        placed = (Placed(document.name, document.title, chunk.place, chunk.text) for chunk in chunks)
        words = [indexed(searched(each), language) for each in placed]
        with self._change() as connection:
            removed = self._delete(connection, [document.name])
            fields = [*map(_storable, document[:3]), *document[3:5], outline_text(document.outline)]
            sql = """INSERT INTO documents (name, title, text, sha256, recipe, outline, chunks, ingested_at)
                     VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING id"""
            ((key,),) = connection.execute(sql, [*fields, len(chunks), time.time()]).fetchall()
            added = _NONE
            for part in parts_of(chunks):
                ids = _add_chunks(connection, key, len(added), part)
                if len(ids) < len(part):
                    raise VectorsGone(document.name)
                _add_words(connection, ids, words[len(added) : len(added) + len(part)])
                added = np.concatenate([added, ids])
                on_stored(len(added))
            connection.execute("UPDATE facts SET documents = documents + 1, chunks = chunks + %s", (len(added),))
            return Change(removed, added, PostgresMoment(connection).state())

    def remove(self, names: Sequence[str]) -> Change:
        """Remove documents; unknown names are passed over."""
        with self._change() as connection:
            removed = self._delete(connection, names)
            return Change(removed, _NONE, PostgresMoment(connection).state())

    def sweep(self) -> None:
        """Drop vectors that no chunk uses: our own, and those that others made before `retention.KEPT_S`."""
        sql = """DELETE FROM vectors v WHERE NOT EXISTS (SELECT FROM chunks c WHERE c.vector = v.id)
                 AND (v.made_by = %s OR v.made_at < now() - make_interval(secs => %s))"""
        with self._connections.one() as connection, connection.transaction():
            connection.execute("SELECT FROM facts FOR UPDATE")
            connection.execute(sql, (self._own, retention.KEPT_S))

    def purge(self) -> None:
        """VACUUM: no row of the tables holds text that was removed, once no other session reads an older state.

        Its bytes may stay in free space until the server writes over them. Its log, replicas and backups are the
        server's own.
        """
        with self._tending() as connection:
            _each_table(connection, "VACUUM")

    def sync(self) -> None:
        """Do nothing: the server has every commit on its disk."""

    def save(self) -> None:
        """Let the server take all rows into its indices, and renew the statistics of its query planner."""
        with self._tending() as connection:
            connection.execute("SELECT gin_clean_pending_list('words_by_word')")
            if PostgresMoment(connection).totals()[1] > postgres_moment.SCANNED:
                index_vectors(connection, self._dimension)
            _each_table(connection, "ANALYZE")

    @contextmanager
    def _change(self) -> Iterator[Connection[Any]]:
        """Yield a connection in a transaction that leads to the next state; other writers wait for it."""
        with self._connections.one() as connection, connection.transaction():
            sql = "UPDATE facts SET generation = generation + 1, identity = %s"
            connection.execute(sql, (secrets.token_hex(8),))
            yield connection

    def _delete(self, connection: Connection[Any], names: Sequence[str]) -> Ids:
        sql = """SELECT c.id, c.vector FROM chunks c JOIN documents d ON d.id = c.document
                 WHERE d.name = ANY (%s) ORDER BY c.id"""
        old = connection.execute(sql, (list(names),)).fetchall()
        # Whoever removes its text answers for a vector.
        sql = "UPDATE vectors SET made_by = %s WHERE id = ANY (%s)"
        connection.execute(sql, (self._own, [vector for _, vector in old]))
        gone = connection.execute("DELETE FROM documents WHERE name = ANY (%s)", (list(names),)).rowcount
        sql = "UPDATE facts SET documents = documents - %s, chunks = chunks - %s"
        connection.execute(sql, (gone, len(old)))
        return ids_of(old)

    @contextmanager
    def _tending(self) -> Iterator[Connection[Any]]:
        """Yield a connection of its own, with the longer deadline of upkeep."""
        with self._connections.one() as connection, closing(connection):
            connection.execute(f"SET statement_timeout = '{_TENDING}'".encode())
            yield connection

    def _renew(self) -> None:
        """Index the words of every chunk anew where another recipe made them."""
        with self._connections.one() as connection, connection.transaction():
            ((words,),) = connection.execute("SELECT words FROM facts FOR UPDATE").fetchall()
            if words == RECIPE:
                return
            connection.execute("DELETE FROM words")
            connection.execute("UPDATE facts SET words = %s", (RECIPE,))
            for key, name, title, text in connection.execute("SELECT id, name, title, text FROM documents").fetchall():
                sql = "SELECT id, place, text FROM chunks WHERE document = %s ORDER BY id"
                rows = connection.execute(sql, (key,)).fetchall()
                language = language_of(text)
                words = [indexed(searched(Placed(name, title, *chunk)), language) for _, *chunk in rows]
                _add_words(connection, ids_of(rows), words)


def _each_table(connection: Connection[Any], statement: str) -> None:
    for table in TABLES:
        connection.execute(f"{statement} {table}".encode())


def _copied(digests: Sequence[bytes], vectors: Vectors) -> bytes:
    """Rows of a digest and a vector, as COPY reads them in binary."""
    big = np.asarray(vectors, ">f4")
    parts = [b"PGCOPY\n\xff\r\n\0", bytes(8)]
    for digest, vector in zip(digests, big, strict=True):
        head = struct.pack("!iHH", 4 + vector.nbytes, len(vector), 0)
        parts += [struct.pack("!hi", 2, len(digest)), digest, head, vector.tobytes()]
    return b"".join([*parts, struct.pack("!h", -1)])


def _add_chunks(connection: Connection[Any], document: int, first: int, chunks: Sequence[NewChunk]) -> Ids:
    """Add chunks of a document, from the ordinal `first` on; return their ids."""
    sql = """INSERT INTO chunks (document, ordinal, vector, text, place)
             SELECT %s, %s + new.ordinal - 1, v.id, new.text, new.place
             FROM unnest(%s::bytea[], %s::text[], %s::text[]) WITH ORDINALITY AS new (digest, text, place, ordinal)
             JOIN vectors v ON v.digest = new.digest ORDER BY new.ordinal RETURNING id"""
    columns = (
        [new.digest for new in chunks],
        [_storable(new.text) for new in chunks],
        [_storable(new.place) for new in chunks],
    )
    added = ids_of(connection.execute(sql, (document, first, *columns)).fetchall())
    return np.sort(added)


def _add_words(connection: Connection[Any], ids: Ids, words: Sequence[Indexed]) -> None:
    sql = """INSERT INTO words (chunk, words) SELECT chunk, words::tsvector
             FROM unnest(%s::bigint[], %s::text[]) AS new (chunk, words)"""
    connection.execute(sql, (ids.tolist(), list(map(_tsvector, words))))


def _tsvector(indexed: Indexed) -> str:
    """Words as text of a tsvector; only their counts matter, not where they stand."""
    counts = Counter(PLAIN + word for word in indexed.plain.split(" ") if word)
    counts.update(FORM + word for word in indexed.forms.split(" ") if word)
    places = [",".join(map(str, range(1, min(count, _POSITIONS) + 1))) for count in counts.values()]
    return " ".join(f"{quoted(word)}:{at}" for word, at in zip(counts, places, strict=True))


def _storable(text: str) -> str:
    return text.replace("\0", " ")
