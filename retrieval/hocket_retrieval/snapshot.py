"""What the document store holds at one moment: its records, and the reads of them. Writing is the store's."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .graph_tables import subgraph_of
from .lexical import term
from .word_index import RANK

Ids = NDArray[np.int64]
Vectors = NDArray[np.float32]
Outline = tuple[tuple[int, str], ...]


class Chunk(NamedTuple):
    """One stored chunk; `vector_id` is equal for chunks of equal text, `subgraph` 0 where there is none.

    `place` says where in its document it begins, such as "p. 3, § Deposit"; empty where nothing is known of it.
    """

    id: int
    document: str
    title: str
    ordinal: int
    text: str
    place: str
    vector_id: int
    vector: Vectors
    subgraph: int


class NewChunk(NamedTuple):
    """A chunk to store: its text, the digest of its vector, and its place."""

    text: str
    digest: bytes
    place: str = ""


class Document(NamedTuple):
    """A document as it is stored: `sha256` of its source, `recipe` of its chunks.

    `outline` are places, each with the offset in `text` from where it holds: pages, sheets, slides, headings.
    """

    name: str
    title: str
    text: str
    sha256: bytes
    recipe: str
    outline: Outline = ()


class Queued(NamedTuple):
    """A file still to ingest, of the folder `root` if one was named, and how often a process has died reading it.

    A `stale` one is a document that is stored and has to be made anew.
    """

    name: str
    root: str = ""
    size: int = 0
    attempts: int = 0
    stale: bool = False


class DocumentInfo(NamedTuple):
    """One stored document; `ingested_at` in seconds of the wall clock, for display."""

    name: str
    title: str
    chunks: int
    ingested_at: float


class Snapshot:
    """Reads of one moment; valid inside `Store.snapshot()` only."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def generation(self) -> int:
        """Grows with every change to the chunks."""
        return int(self._fact("generation"))

    def state(self) -> str:
        """A name that these chunks alone have: not even a copy of the store that went its own way comes to it."""
        return f"{self._fact('generation')}-{self._fact('identity')}"

    def totals(self) -> tuple[int, int]:
        """Documents and chunks in the store."""
        return int(self._fact("documents")), int(self._fact("chunks"))

    def stale(self, recipe: str) -> list[str]:
        """Names of documents made by another recipe."""
        return self._names("SELECT name FROM documents WHERE recipe <> ? ORDER BY id", recipe)

    def queued(self) -> list[Queued]:
        """Files still to ingest."""
        rows = self._connection.execute("SELECT name, root, size, attempts FROM queue ORDER BY rowid")
        return [Queued(*row) for row in rows]

    def is_queued(self, name: str) -> bool:
        """Whether this name is still to ingest."""
        return self._connection.execute("SELECT 1 FROM queue WHERE name = ?", (name,)).fetchone() is not None

    def documents(self) -> list[DocumentInfo]:
        """Every document, by name."""
        rows = self._connection.execute("SELECT name, title, chunks, ingested_at FROM documents ORDER BY name")
        return [DocumentInfo(*row) for row in rows]

    def document(self, name: str) -> Document | None:
        """The document of this name; None when it is not here."""
        sql = "SELECT name, title, text, sha256, recipe, outline FROM documents WHERE name = ?"
        row = self._connection.execute(sql, (name,)).fetchone()
        return Document(*row[:-1])._replace(outline=outline_of(row[-1])) if row else None

    def missing(self, digests: Sequence[bytes]) -> set[bytes]:
        """Those digests that have no vector yet."""
        sql = "SELECT 1 FROM vectors WHERE digest = ?"
        return {digest for digest in digests if not self._connection.execute(sql, (digest,)).fetchone()}

    def by_words(self, expression: str, limit: int) -> dict[int, float]:
        """BM25, above 0, of the chunks that match the FTS5 expression, by their ids, best first."""
        sql = f"SELECT rowid, -{RANK} AS bm25 FROM words WHERE words MATCH ? ORDER BY bm25 DESC, rowid LIMIT ?"
        return dict(self._connection.execute(sql, (expression, limit)).fetchall())

    def frequency(self, word: str, limit: int) -> int:
        """How many chunks have a word of `content_words`, counted up to `limit`."""
        sql = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
        return int(self._connection.execute(sql, (term(word), limit)).fetchone()[0])

    def chunks(self, ids: Iterable[int]) -> Iterator[Chunk]:
        """The chunks with these ids, in this order, each read when it is asked for; ids no longer here are left out."""
        for id in ids:
            if row := self._chunk(id):
                yield Chunk(*row[:7], np.frombuffer(row[7], np.float32), subgraph_of(self._connection, row[0]))

    def texts(self, after: int, limit: int) -> list[tuple[int, str]]:
        """(chunk id, text) of at most `limit` chunks with ids above `after`, in their order."""
        sql = "SELECT id, text FROM chunks WHERE id > ? ORDER BY id LIMIT ?"
        return self._connection.execute(sql, (after, limit)).fetchall()

    def chunk_at(self, document: str, ordinal: int) -> Chunk | None:
        """The chunk at a place; None when it is not here."""
        sql = "SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document WHERE d.name = ? AND c.ordinal = ?"
        row = self._connection.execute(sql, (document, ordinal)).fetchone()
        return next(self.chunks(row), None) if row else None

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


def ids_of(rows: Iterable[tuple[Any, ...]]) -> Ids:
    """The first column of `rows`, as an array of their number."""
    return np.array([row[0] for row in rows], dtype=np.int64)


def outline_text(outline: Outline) -> str:
    """An outline as it is stored."""
    return json.dumps(outline, ensure_ascii=False) if outline else ""


def outline_of(text: str) -> Outline:
    """The outline of a stored text."""
    return tuple((offset, place) for offset, place in json.loads(text)) if text else ()
