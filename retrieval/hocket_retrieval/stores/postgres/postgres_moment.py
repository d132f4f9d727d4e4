"""Reads of one state of a PostgreSQL store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf, log
from typing import Any, NamedTuple

import numpy as np
from psycopg import Connection
from psycopg.sql import SQL, Composable, Literal

from ...text.lexical import query_terms, words
from ..folders import folder_of
from ..outlines import outline_of
from ..records import Chunk, Document, DocumentInfo, Ids, Vectors

SCANNED = 50_000  # chunks that a search by meaning reads one by one, rather than ask an index that may miss some
COUNTED = 1_000  # chunks of a word; of more the server's own estimate tells how rare it is
PLAIN, FORM = "=", ""  # before a word in the index, which column it is of
PLAIN_WEIGHT = 0.05  # what is found by its stem and its form is hardly better than by its stem
_SHARES = [1.0, 1.0, 1.0, 1.0]  # for ts_rank: its labels weigh alike
_HEAD = "name, title, text, sha256, recipe, outline"
_CHUNK = """SELECT c.id, d.name, d.title, c.ordinal, c.text, c.place, c.vector, v.vector::real[] FROM chunks c
            JOIN documents d ON d.id = c.document JOIN vectors v ON v.id = c.vector"""
_WORD_BYTES = 2_000  # a tsvector takes 2,046
_READ = 32  # chunks read at once


class _Term(NamedTuple):
    """A term of a query as text of a tsquery, with the chunks that have it, its weight, and the most that it scores."""

    text: str
    chunks: int
    weight: float
    most: float


class PostgresMoment:
    """Reads inside one transaction; valid inside `PostgresStore.moment()` only."""

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection

    def generation(self) -> int:
        """Return a number that grows with every change to the chunks."""
        return int(self._one("SELECT generation FROM facts"))

    def state(self) -> str:
        """Return a name that no other state of the chunks has."""
        return str(self._one("SELECT generation || '-' || identity FROM facts"))

    def totals(self) -> tuple[int, int]:
        """Return the numbers of documents and of chunks in the store."""
        ((documents, chunks),) = self._rows("SELECT documents, chunks FROM facts")
        return int(documents), int(chunks)

    def stale(self, recipe: str) -> list[str]:
        """Names of documents made by another recipe."""
        return [name for (name,) in self._rows("SELECT name FROM documents WHERE recipe <> %s ORDER BY id", recipe)]

    def recipes(self) -> set[str]:
        """The recipes of all documents."""
        return {recipe for (recipe,) in self._rows("SELECT DISTINCT recipe FROM documents")}

    def documents(self) -> list[DocumentInfo]:
        """Return all documents, by name."""
        rows = self._rows("SELECT name, title, chunks, ingested_at FROM documents ORDER BY name")
        return [DocumentInfo(*row) for row in rows]

    def document(self, name: str) -> Document | None:
        """The document of this name; None when it is not here."""
        for row in self._rows(f"SELECT {_HEAD} FROM documents WHERE name = %s", name):
            return Document(*row)._replace(outline=outline_of(row[-1]))
        return None

    def missing(self, digests: Sequence[bytes]) -> set[bytes]:
        """Return the digests that have no vector yet."""
        known = self._rows("SELECT digest FROM vectors WHERE digest = ANY (%s)", list(digests))
        return {*digests} - {bytes(digest) for (digest,) in known}

    def by_words(self, query: str, limit: int, within: tuple[str, ...] = ()) -> dict[int, float]:
        """Scores of chunks, best first: PostgreSQL has no BM25, so this is one like it, without a chunk's length.

        A word counts by its inverse document frequency, which is the server's estimate above COUNTED chunks, and by
        `ts_rank`, which grows with its count in the chunk from 0.6 towards 1. Plain words count PLAIN_WEIGHT of forms.
        """
        terms = self._terms(query) if limit > 0 else []
        # Of small folders every chunk is read; the index would give all of the whole store.
        small = self._matches(within) * 10 < self.totals()[1]
        found: dict[int, float] = {}
        for some in range(len(terms) if small else 1, len(terms) + 1) if terms else ():
            # What has none of the first terms scores no more than the others weigh together.
            if sum(term.chunks for term in terms[:some]) >= limit or some == len(terms):
                found = self._ranked(terms, some, limit, within, scan=small)
                if len(found) >= limit and min(found.values()) > sum(term.most for term in terms[some:]):
                    break
        return found

    def frequency(self, word: str, limit: int) -> int:
        """Return how many chunks have a word of `telling_words`, counted up to `limit`."""
        return self._frequency(quoted(PLAIN + word), limit)

    def documents_with(self, one: str, other: str) -> list[str]:
        """Names of all documents that have both words."""
        sql = """SELECT name FROM documents WHERE id IN (
                 SELECT c.document FROM chunks c JOIN words w ON w.chunk = c.id WHERE w.words @@ %s::tsquery)"""
        found = [
            {name for (name,) in self._rows(sql, quoted(PLAIN + word))}
            for word in dict.fromkeys(words(f"{one} {other}"))
        ]
        return sorted(set.intersection(*found)) if found else []

    def by_meaning(self, vector: Vectors, limit: int, within: tuple[str, ...] = ()) -> dict[int, float]:
        """Cosines of the chunks nearest to a [dimension] vector of length 1 by their ids, nearest first.

        Exact among SCANNED chunks or fewer. Among more, the index of meaning may miss some; a scan takes its place
        where it finds fewer than asked for.
        """
        if limit <= 0:
            return {}
        matches = self._matches(within)
        if matches > SCANNED:
            half = SQL("halfvec({})").format(Literal(len(vector)))
            found = self._nearest(vector, limit, within, SQL("v.vector::{} <#> %s::{}").format(half, half))
            if len(found) >= min(limit, matches):
                return found
        return self._nearest(vector, limit, within, SQL("v.vector <#> %s::vector"))

    def chunks(self, ids: Iterable[int]) -> Iterator[Chunk]:
        """The chunks with these ids, in this order; ids no longer here are left out."""
        wanted = list(map(int, ids))
        for some in (wanted[at : at + _READ] for at in range(0, len(wanted), _READ)):
            found = {row[0]: row for row in self._rows(f"{_CHUNK} WHERE c.id = ANY (%s)", some)}
            yield from (_chunk(found[id]) for id in some if id in found)

    def chunk_at(self, document: str, ordinal: int) -> Chunk | None:
        """The chunk at a place; None when it is not here."""
        rows = self._rows(f"{_CHUNK} WHERE d.name = %s AND c.ordinal = %s", document, ordinal)
        return next(map(_chunk, rows), None)

    def chunks_of(self, document: str, first: int, end: int) -> list[Chunk]:
        """The chunks of a document with ordinals from `first` to below `end`, in their order."""
        where = "WHERE d.name = %s AND c.ordinal >= %s AND c.ordinal < %s ORDER BY c.ordinal"
        return list(map(_chunk, self._rows(f"{_CHUNK} {where}", document, first, end)))

    def texts(self, after: int, limit: int) -> list[tuple[int, str]]:
        """(chunk id, text) of at most `limit` chunks with ids above `after`, in their order."""
        return self._rows("SELECT id, text FROM chunks WHERE id > %s ORDER BY id LIMIT %s", after, limit)

    def ids(self) -> Ids:
        """The ids of all chunks, ascending."""
        return ids_of(self._rows("SELECT id FROM chunks ORDER BY id"))

    def located(self, ids: Ids) -> list[tuple[int, str, int]]:
        """(chunk id, document, ordinal) of the chunks with these ids; ids no longer here are left out."""
        sql = """SELECT c.id, d.name, c.ordinal FROM chunks c JOIN documents d ON d.id = c.document
                 WHERE c.id = ANY (%s) ORDER BY c.id"""
        return self._rows(sql, ids.tolist())

    def _nearest(self, vector: Vectors, limit: int, within: tuple[str, ...], distance: Composable) -> dict[int, float]:
        sql = """SELECT c.id, v.vector <#> %s::vector FROM vectors v JOIN chunks c ON c.vector = v.id
                 JOIN documents d ON d.id = c.document WHERE {} ORDER BY {} LIMIT %s"""
        self._connection.execute("SET LOCAL hnsw.iterative_scan = strict_order; SET LOCAL hnsw.ef_search = 400")
        where, values = _in_folders(within)
        text, query = vector_text(vector), SQL(sql).format(where, distance)
        rows = self._connection.execute(query, [text, *values, text, limit]).fetchall()
        return {id: -distance for id, distance in sorted(rows, key=lambda row: (row[1], row[0]))}

    def _matches(self, within: tuple[str, ...]) -> int:
        """Return how many chunks the folders have."""
        if not within:
            return self.totals()[1]
        where, values = _in_folders(within)
        query = SQL("SELECT coalesce(sum(d.chunks), 0) FROM documents d WHERE {}").format(where)
        ((count,),) = self._connection.execute(query, values).fetchall()
        return int(count)

    def _terms(self, query: str) -> list[_Term]:
        """Return the terms of a query, those that weigh most first."""
        plain, prefixes, forms = query_terms(query)
        counts = {word: self._chunks_with(quoted(FORM + word)) for word in forms}
        found = [self._term(quoted(FORM + word), counts[word], 1.0) for word in forms]
        for word in plain:
            text = quoted(PLAIN + word) + ":*" * (word in prefixes)
            found.append(self._term(text, counts.get(word) or self._chunks_with(text), PLAIN_WEIGHT))
        return sorted((term for term in found if term.chunks), key=lambda term: -term.most)

    def _term(self, text: str, chunks: int, share: float) -> _Term:
        weight = share * log(1 + (max(self.totals()[1] - chunks, 0) + 0.5) / (chunks + 0.5))
        return _Term(text, chunks, weight, inf if text.endswith("*") else weight)  # one that ends so may be many words

    def _chunks_with(self, term: str) -> int:
        if (count := self._frequency(term, COUNTED)) < COUNTED:
            return count
        query = SQL("EXPLAIN (FORMAT JSON) SELECT FROM words WHERE words @@ {}::tsquery").format(Literal(term))
        (((plan,),),) = self._connection.execute(query).fetchall()
        return max(count, int(plan["Plan"]["Plan Rows"]))

    def _ranked(
        self, terms: Sequence[_Term], some: int, limit: int, within: tuple[str, ...], *, scan: bool
    ) -> dict[int, float]:
        """Return the best of the chunks that have one of the first `some` terms, scored by all terms."""
        score = SQL(" + ").join([SQL("%s * ts_rank(%s::real[], w.words, %s::tsquery)")] * len(terms))
        has = SQL("(w.words @@ %s::tsquery) IS TRUE" if scan else "w.words @@ %s::tsquery")
        chosen, folders = _in_folders(within)
        where = SQL(_JOINED + " WHERE {} AND").format(chosen) if within else SQL("WHERE")
        sql = SQL("SELECT w.chunk, {} AS score FROM words w {} {} ORDER BY score DESC, w.chunk LIMIT %s")
        weights = [value for term in terms for value in (term.weight, _SHARES, term.text)]
        values = [*weights, *folders, " | ".join(term.text for term in terms[:some]), limit]
        rows = self._connection.execute(sql.format(score, where, has), values)
        return {chunk: float(score) for chunk, score in rows}

    def _frequency(self, term: str, limit: int) -> int:
        sql = "SELECT count(*) FROM (SELECT FROM words WHERE words @@ %s::tsquery LIMIT %s) AS found"
        return int(self._one(sql, term, limit))

    def _one(self, sql: str, *values: object) -> Any:  # noqa: ANN401  of whatever type the column is
        ((value,),) = self._rows(sql, *values)
        return value

    def _rows(self, sql: str, *values: object) -> list[Any]:
        return self._connection.execute(sql.encode(), values).fetchall()


_JOINED = "JOIN chunks c ON c.id = w.chunk JOIN documents d ON d.id = c.document"
_IN_FOLDER = SQL("(d.name = %s OR d.name >= %s AND d.name < %s)")


def _in_folders(within: tuple[str, ...]) -> tuple[Composable, list[str]]:
    """Return a condition, and its values: a document is one of the folders or lies in one; true where none is given."""
    where = SQL("({})").format(SQL(" OR ").join([_IN_FOLDER] * len(within))) if within else SQL("true")
    return where, [value for path in within for value in folder_of(path)]


def quoted(word: str) -> str:
    """A word as text of a tsquery or a tsvector."""
    short = word.encode()[:_WORD_BYTES].decode(errors="ignore")
    escaped = short.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def vector_text(vector: Vectors) -> str:
    """A vector as pgvector reads it."""
    return f"[{','.join(map(repr, vector.tolist()))}]"


def ids_of(rows: Iterable[Sequence[Any]]) -> Ids:
    """The first column of `rows`."""
    return np.array([row[0] for row in rows], dtype=np.int64)


def _chunk(row: Sequence[Any]) -> Chunk:
    return Chunk(row[0], row[1], row[2], row[3], row[4], row[5], row[6], np.array(row[7], np.float32))
