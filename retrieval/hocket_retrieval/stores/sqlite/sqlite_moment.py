"""Reads of the documents' SQLite file and its dense index at one moment. Writing is the store's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ...text.lexical import match_expression, whole_words
from ..folders import folder_of
from ..outlines import outline_of
from ..records import Chunk, Document, DocumentInfo, Ids, Vectors
from .dense import DenseIndex
from .word_index import RANK, phrase, term

_IN_FOLDER = "(d.name = ? OR d.name >= ? AND d.name < ?)"


class SqliteMoment:
    """Reads of one moment; valid inside `SqliteStore.moment()` only."""

    def __init__(self, connection: sqlite3.Connection, index: DenseIndex) -> None:
        self._connection = connection
        self._index = index

    def generation(self) -> int:
        """Return a number that grows with every change to the chunks."""
        return int(self._fact("generation"))

    def state(self) -> str:
        """Return a name that no other state of the chunks has, not even of a diverged copy of the store."""
        return state_of(self._connection)

    def totals(self) -> tuple[int, int]:
        """Return the numbers of documents and of chunks in the store."""
        return int(self._fact("documents")), int(self._fact("chunks"))

    def stale(self, recipe: str) -> list[str]:
        """Names of documents made by another recipe."""
        return self._names("SELECT name FROM documents WHERE recipe <> ? ORDER BY id", recipe)

    def recipes(self) -> set[str]:
        """The recipes of all documents."""
        return set(self._names("SELECT DISTINCT recipe FROM documents"))

    def documents(self) -> list[DocumentInfo]:
        """Return all documents, by name."""
        rows = self._connection.execute("SELECT name, title, chunks, ingested_at FROM documents ORDER BY name")
        return [DocumentInfo(*row) for row in rows]

    def document(self, name: str) -> Document | None:
        """The document of this name; None when it is not here."""
        sql = "SELECT name, title, text, sha256, recipe, outline FROM documents WHERE name = ?"
        row = self._connection.execute(sql, (name,)).fetchone()
        return Document(*row[:-1])._replace(outline=outline_of(row[-1])) if row else None

    def missing(self, digests: Sequence[bytes]) -> set[bytes]:
        """Return the digests that have no vector yet."""
        sql = "SELECT 1 FROM vectors WHERE digest = ?"
        return {digest for digest in digests if not self._connection.execute(sql, (digest,)).fetchone()}

    def by_words(self, query: str, limit: int, within: tuple[str, ...] = ()) -> dict[int, float]:
        """BM25, above 0, of the best chunks that have a word of the query, by their ids, best first."""
        expression = match_expression(query)
        if not expression:
            return {}
        chosen, values = _chunks_within(within)
        among = f"AND +rowid IN ({chosen})" if within else ""  # "+": else each id is looked for by a search of its own
        sql = f"""SELECT rowid, -{RANK} AS bm25 FROM words WHERE words MATCH ? {among}
                  ORDER BY bm25 DESC, rowid LIMIT ?"""
        return dict(self._connection.execute(sql, (expression, *values, limit)).fetchall())

    def frequency(self, word: str, limit: int) -> int:
        """Return how many chunks have a word of `telling_words`, counted up to `limit`."""
        sql = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
        return int(self._connection.execute(sql, (term(word), limit)).fetchone()[0])

    def documents_with(self, one: str, other: str) -> list[str]:
        """Names of the documents that have two words in a row in a chunk, or may have them at the border of two."""
        within = "SELECT c.document FROM words w JOIN chunks c ON c.id = w.rowid WHERE words MATCH ?"
        begun = """SELECT p.document, p.text FROM words w JOIN chunks c ON c.id = w.rowid
                   JOIN chunks p ON p.document = c.document AND p.ordinal = c.ordinal - 1 WHERE words MATCH ?"""
        documents = {row[0] for row in self._connection.execute(within, (phrase(f"{one} {other}"),))}
        rows = self._connection.execute(begun, (phrase(other, first=True),))
        documents |= {document for document, text in rows if one in whole_words(text)[-1:]}
        sql = "SELECT name FROM documents WHERE id = ?"
        return [self._connection.execute(sql, (document,)).fetchone()[0] for document in sorted(documents)]

    def by_meaning(self, vector: Vectors, limit: int, within: tuple[str, ...] = ()) -> dict[int, float]:
        """Return cosines of the nearest chunks by their ids, nearest first; chunks gone since are left out."""
        among = None
        if within:
            among = ids_of(self._connection.execute(*_chunks_within(within)))
        elif self._index.state != self.state():  # what came to it since this moment began is left out
            among = self.ids()
        return self._index.search(vector, limit, among)

    def chunks(self, ids: Iterable[int]) -> Iterator[Chunk]:
        """The chunks with these ids, in this order, each read when it is asked for; ids no longer here are left out."""
        for id in ids:
            if row := self._chunk(id):
                yield Chunk(*row[:7], np.frombuffer(row[7], np.float32))

    def texts(self, after: int, limit: int) -> list[tuple[int, str]]:
        """(chunk id, text) of at most `limit` chunks with ids above `after`, in their order."""
        sql = "SELECT id, text FROM chunks WHERE id > ? ORDER BY id LIMIT ?"
        return self._connection.execute(sql, (after, limit)).fetchall()

    def chunk_at(self, document: str, ordinal: int) -> Chunk | None:
        """The chunk at a place; None when it is not here."""
        sql = "SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document WHERE d.name = ? AND c.ordinal = ?"
        row = self._connection.execute(sql, (document, ordinal)).fetchone()
        return next(self.chunks(row), None) if row else None

    def chunks_of(self, document: str, first: int, end: int) -> list[Chunk]:
        """The chunks of a document with ordinals from `first` to below `end`, in their order."""
        sql = """SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document
                 WHERE d.name = ? AND c.ordinal >= ? AND c.ordinal < ? ORDER BY c.ordinal"""
        rows = self._connection.execute(sql, (document, first, end)).fetchall()
        return list(self.chunks(id for (id,) in rows))

    def ids(self) -> Ids:
        """The ids of all chunks, ascending."""
        return ids_of(self._connection.execute("SELECT id FROM chunks ORDER BY id"))

    def located(self, ids: Ids) -> list[tuple[int, str, int]]:
        """(chunk id, document, ordinal) of the chunks with these ids; ids no longer here are left out."""
        sql = "SELECT c.id, d.name, c.ordinal FROM chunks c JOIN documents d ON d.id = c.document WHERE c.id = ?"
        rows = (self._connection.execute(sql, (id,)).fetchone() for id in ids.tolist())
        return [row for row in rows if row]

    def vectors(self, dimension: int, first: int = 0, last: int = 1 << 62) -> Iterator[tuple[Ids, Vectors]]:
        """(chunk ids, their vectors) in blocks, for the ids from `first` to `last`.

        Those of another dimension, which another embedder made, are left out: they are still to be made anew.
        """
        sql = """SELECT c.id, v.vector FROM chunks c JOIN vectors v ON v.id = c.vector
                 WHERE c.id BETWEEN ? AND ? AND length(v.vector) = ?"""
        cursor = self._connection.execute(sql, (first, last, dimension * np.float32().itemsize))
        while rows := cursor.fetchmany(8192):
            flat = np.frombuffer(b"".join(row[1] for row in rows), np.float32)
            yield np.array([row[0] for row in rows], dtype=np.int64), flat.reshape(len(rows), dimension)

    def _chunk(self, id: int) -> tuple[int, str, str, int, str, str, int, bytes] | None:
        sql = """SELECT c.id, d.name, d.title, c.ordinal, c.text, c.place, c.vector, v.vector FROM chunks c
                 JOIN documents d ON d.id = c.document JOIN vectors v ON v.id = c.vector WHERE c.id = ?"""
        row: tuple[int, str, str, int, str, str, int, bytes] | None
        row = self._connection.execute(sql, (int(id),)).fetchone()
        return row

    def _fact(self, name: str) -> str:
        value: str = self._connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()[0]
        return value

    def _names(self, sql: str, *values: str) -> list[str]:
        return [row[0] for row in self._connection.execute(sql, values)]


def state_of(connection: sqlite3.Connection) -> str:
    """Return a name that no other state of the chunks has, not even of a diverged copy of the store."""
    sql = "SELECT value FROM facts WHERE name IN ('generation', 'identity') ORDER BY name"
    return "-".join(value for (value,) in connection.execute(sql))


def ids_of(rows: Iterable[tuple[Any, ...]]) -> Ids:
    """The first column of `rows`, as an array of their number."""
    return np.array([row[0] for row in rows], dtype=np.int64)


def _chunks_within(within: tuple[str, ...]) -> tuple[str, list[str]]:
    """A query for the ids of the chunks of folders or documents, and its values."""
    where = " OR ".join([_IN_FOLDER] * len(within))
    sql = f"SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document WHERE {where}"
    return sql, [value for path in within for value in folder_of(path)]
