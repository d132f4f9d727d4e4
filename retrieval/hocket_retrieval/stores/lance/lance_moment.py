"""Reads of one state of a LanceDB store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from lancedb.expr import Expr, col, lit
from lancedb.query import BooleanQuery, FullTextQuery, MatchQuery, Occur
from lancedb.table import Table

from ...text.lexical import query_terms, words
from ..outlines import outline_of
from ..records import Chunk, Document, DocumentInfo, Ids, Vectors
from . import lance_table as tables
from .lance_table import CHUNKS, DOCUMENT, ids_in, one_of, rows_of

PLAIN = 0.05  # what is found by its stem and its form is hardly better than by its stem
PROBES = 64  # parts of the index of meaning that a search reads
_CHUNK = ("id", "document", "title", "ordinal", "text", "place", "digest", "vector")
_READ = 32  # chunks read at once
_LOOKED_UP = 1_000


class LanceMoment:
    """Reads of one version of both tables; valid inside `LanceStore.moment()` only."""

    def __init__(self, table: Table, made: Table, dimension: int) -> None:
        self._table = table
        self._made = made
        self._dimension = dimension

    def generation(self) -> int:
        """Return a number that grows with every change to the chunks, and with upkeep."""
        return int(self._table.version)

    def state(self) -> str:
        """Return a name that no other state of the chunks has."""
        return tables.state_of(self._table).identity

    def totals(self) -> tuple[int, int]:
        """Return the numbers of documents and of chunks in the store."""
        return self._count(col("ordinal") == lit(DOCUMENT)), self._count(CHUNKS)

    def stale(self, recipe: str) -> list[str]:
        """Names of documents made by another recipe."""
        where = (col("ordinal") == lit(DOCUMENT)) & (col("recipe") != lit(recipe))
        return sorted(self._rows(where, "document")["document"].to_pylist())

    def recipes(self) -> set[str]:
        """The recipes of all documents."""
        return set(self._rows(col("ordinal") == lit(DOCUMENT), "recipe")["recipe"].unique().to_pylist())

    def documents(self) -> list[DocumentInfo]:
        """Return all documents, by name."""
        columns = ("document", "title", "chunks", "ingested_at")
        rows = self._rows(col("ordinal") == lit(DOCUMENT), *columns)
        return sorted(DocumentInfo(*row) for row in zip(*(rows[name].to_pylist() for name in columns), strict=True))

    def document(self, name: str) -> Document | None:
        """The document of this name; None when it is not here."""
        columns = ("document", "title", "text", "sha256", "recipe", "outline")
        rows = self._rows((col("document") == lit(name)) & (col("ordinal") == lit(DOCUMENT)), *columns)
        if not rows.num_rows:
            return None
        values = [rows[column][0].as_py() for column in columns]
        return Document(*values[:-1])._replace(outline=outline_of(values[-1]))

    def missing(self, digests: Sequence[bytes]) -> set[bytes]:
        """Return the digests that have no vector yet."""
        names = [digest.hex() for digest in digests]
        return {bytes.fromhex(name) for name in {*names} - self._vectors(names, "digest").keys()}

    def vectors(self, digests: Sequence[str]) -> dict[str, Vectors]:
        """The vectors of those digests, in hexadecimal, that have one."""
        return self._vectors(digests, "digest", "vector")

    def by_words(self, query: str, limit: int, within: tuple[str, ...] = ()) -> dict[int, float]:
        """Return LanceDB's BM25 of plain words, by PLAIN, and of forms, best first; word frequencies are of all chunks.

        Each of the two columns has its own length in it, so scores are not quite FTS5's.
        """
        plain, prefixes, forms = query_terms(query)
        begun = [f"{word}*" for word in prefixes]
        asked: list[FullTextQuery] = []
        if plain:
            asked.append(MatchQuery(" ".join([*plain, *begun]), "plain", boost=PLAIN))
        if forms:
            asked.append(MatchQuery(" ".join(forms), "forms"))
        if not asked or limit <= 0:
            return {}
        either = BooleanQuery([(Occur.SHOULD, each) for each in asked])
        search = self._table.search(either, query_type="fts").select(["id", "_score"])
        if not within:
            search = search.limit(limit)
        elif tables.all_words_indexed(self._table):
            search = search.where(tables.chunks_within(within)).limit(limit)
        else:  # a filter that came first would hide rows of no index from the frequencies of words
            search = search.where(tables.chunks_within(within), prefilter=False).limit(self._table.count_rows())
        rows = search.to_arrow()
        return dict(islice(_best(rows, rows["_score"].to_numpy()).items(), limit))

    def frequency(self, word: str, limit: int) -> int:
        """Return how many chunks contain `word`, which is one of `telling_words`; counting stops at `limit`."""
        return int(self._with_word(word, limit, "id").num_rows)

    def documents_with(self, one: str, other: str) -> list[str]:
        """Names of all documents that have both words."""
        every = self._table.count_rows()
        found = [
            {*self._with_word(word, every, "document")["document"].to_pylist()} for word in words(f"{one} {other}")
        ]
        return sorted(set.intersection(*found)) if found else []

    def by_meaning(self, vector: Vectors, limit: int, within: tuple[str, ...] = ()) -> dict[int, float]:
        """Cosines of the chunks nearest to a [dimension] vector of length 1 by their ids, nearest first.

        Exact among SCANNED chunks or fewer. Among more, the index of meaning may miss some; a scan takes its place
        where it finds fewer than asked for.
        """
        if limit <= 0:
            return {}
        where = tables.chunks_within(within)
        matches = self._count(where)
        search = self._table.search(vector, vector_column_name="vector").distance_type("dot")
        search = search.where(where).select(["id", "_distance"]).limit(limit)
        if matches > tables.SCANNED:
            rows = search.nprobes(PROBES).to_arrow()
            if rows.num_rows >= min(limit, matches):
                return _best(rows, 1 - rows["_distance"].to_numpy())
        rows = search.bypass_vector_index().to_arrow()
        return _best(rows, 1 - rows["_distance"].to_numpy())

    def chunks(self, ids: Iterable[int]) -> Iterator[Chunk]:
        """The chunks with these ids, in this order; ids no longer here are left out."""
        for some in _parts(list(map(int, ids)), _READ):
            found = {chunk.id: chunk for chunk in self._chunks(CHUNKS & one_of("id", some))}
            yield from (found[id] for id in some if id in found)

    def chunk_at(self, document: str, ordinal: int) -> Chunk | None:
        """The chunk at a place; None when it is not here."""
        where = CHUNKS & (col("document") == lit(document)) & (col("ordinal") == lit(ordinal))
        return next(self._chunks(where), None)

    def chunks_of(self, document: str, first: int, end: int) -> list[Chunk]:
        """The chunks of a document with ordinals from `first` to below `end`, in their order."""
        within = (col("ordinal") >= lit(first)) & (col("ordinal") < lit(end))
        found = self._chunks(CHUNKS & (col("document") == lit(document)) & within)
        return sorted(found, key=lambda chunk: chunk.ordinal)

    def texts(self, after: int, limit: int) -> list[tuple[int, str]]:
        """(chunk id, text) of at most `limit` chunks with ids above `after`, in their order."""
        wanted = np.sort(ids_in(self._rows(CHUNKS & (col("id") > lit(after)), "id")))[:limit].tolist()
        found: list[tuple[int, str]] = []
        for some in _parts(wanted, _LOOKED_UP):
            rows = self._rows(CHUNKS & one_of("id", some), "id", "text")
            found += sorted(zip(rows["id"].to_pylist(), rows["text"].to_pylist(), strict=True))
        return found

    def ids(self) -> Ids:
        """The ids of all chunks, ascending."""
        return np.sort(ids_in(self._rows(CHUNKS, "id")))

    def located(self, ids: Ids) -> list[tuple[int, str, int]]:
        """(chunk id, document, ordinal) of the chunks with these ids; ids no longer here are left out."""
        found: list[tuple[int, str, int]] = []
        for some in _parts(ids.tolist(), _LOOKED_UP):
            rows = self._rows(CHUNKS & one_of("id", some), "id", "document", "ordinal")
            found += zip(*(rows[name].to_pylist() for name in ("id", "document", "ordinal")), strict=True)
        return sorted(found)

    def _rows(self, where: Expr, *columns: str) -> pa.Table:
        return rows_of(self._table, where, *columns)

    def _count(self, where: Expr) -> int:
        return int(self._table.count_rows(where.to_sql()))

    def _with_word(self, word: str, limit: int, column: str) -> pa.Table:
        search = self._table.search(MatchQuery(word, "plain"), query_type="fts")
        return search.select([column, "_score"]).limit(max(limit, 1)).to_arrow()

    def _vectors(self, digests: Sequence[str], *columns: str) -> dict[str, Vectors]:
        found: dict[str, Vectors] = {}
        for table in (self._made, self._table):
            for some in _parts([each for each in dict.fromkeys(digests) if each not in found], _LOOKED_UP):
                rows = rows_of(table, one_of("digest", some), *columns)
                vectors = tables.vectors_in(rows, self._dimension) if "vector" in columns else rows["digest"]
                found.update(zip(rows["digest"].to_pylist(), vectors, strict=True))
        return found

    def _chunks(self, where: Expr) -> Iterator[Chunk]:
        rows = self._rows(where, *_CHUNK)
        columns = [rows[name].to_pylist() for name in _CHUNK[:-1]]
        row: tuple[Any, ...]
        for row in zip(*columns, tables.vectors_in(rows, self._dimension), strict=True):
            yield Chunk(row[0], row[1], row[2], row[3], row[4], row[5], int(row[6][:15], 16), row[7])


def _best(rows: pa.Table, scores: Vectors) -> dict[int, float]:
    pairs = zip(rows["id"].to_pylist(), scores.tolist(), strict=True)
    return dict(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))


def _parts(items: list[Any], size: int) -> Iterator[list[Any]]:
    yield from (items[at : at + size] for at in range(0, len(items), size))
