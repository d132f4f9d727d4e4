"""The graph's tables, in a file of their own that follows the document store.

`chunks` are those of the store at the state that the fact `store` names. What comes to it is `pending` until it is
read; what goes takes with it what was read of it, and is `gone` until the network knows. `changed` entities gained or
lost a mention. These three are what the next step starts from, so that a process that dies in the middle is followed by
one that does the same. `stated` are pairs of a chunk's spellings that it relates to each other, as an engine says;
`fallen` are chunks that the rules read in an engine's place.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from ..stores.records import Ids

SCHEMA_VERSION = 1
SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE chunks (id INTEGER PRIMARY KEY, document TEXT NOT NULL, ordinal INTEGER NOT NULL);
CREATE INDEX chunks_by_document ON chunks (document);
CREATE TABLE subgraphs (id INTEGER PRIMARY KEY AUTOINCREMENT, version INTEGER NOT NULL DEFAULT 0,
    summary TEXT NOT NULL DEFAULT '');
CREATE TABLE entities (id INTEGER PRIMARY KEY AUTOINCREMENT,
    subgraph INTEGER REFERENCES subgraphs (id) ON DELETE SET NULL);
CREATE INDEX entities_by_subgraph ON entities (subgraph);
CREATE TABLE spellings (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE,
    entity INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE);
CREATE INDEX spellings_by_entity ON spellings (entity);
CREATE TABLE mentions (chunk INTEGER NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    spelling INTEGER NOT NULL REFERENCES spellings (id), PRIMARY KEY (chunk, spelling)) WITHOUT ROWID;
CREATE INDEX mentions_by_spelling ON mentions (spelling);
CREATE TABLE pending (chunk INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE);
CREATE TABLE gone (chunk INTEGER PRIMARY KEY);
CREATE TABLE changed (entity INTEGER PRIMARY KEY REFERENCES entities (id) ON DELETE CASCADE);
CREATE TRIGGER chunk_to_read AFTER INSERT ON chunks BEGIN INSERT INTO pending VALUES (new.id); END;
CREATE TRIGGER chunk_gone AFTER DELETE ON chunks BEGIN INSERT INTO gone VALUES (old.id); END;
CREATE TRIGGER mention_added AFTER INSERT ON mentions BEGIN
    INSERT OR IGNORE INTO changed SELECT entity FROM spellings WHERE id = new.spelling; END;
CREATE TRIGGER mention_removed AFTER DELETE ON mentions BEGIN
    INSERT OR IGNORE INTO changed SELECT entity FROM spellings WHERE id = old.spelling; END;
CREATE TABLE stated (chunk INTEGER NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    one INTEGER NOT NULL, other INTEGER NOT NULL, PRIMARY KEY (chunk, one, other)) WITHOUT ROWID;
CREATE TABLE fallen (chunk INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE, answered INTEGER NOT NULL);
INSERT INTO facts VALUES ('graph', '0'), ('relations', '0'), ('modularity', '0.0'), ('extractor', 'rules'),
    ('store', ''), ('number', hex(randomblob(8)));
"""


class Spelling(NamedTuple):
    """A spelling of an entity."""

    id: int
    text: str
    entity: int


class NamedEntity(NamedTuple):
    """An entity as a summary may name it, by its commonest spelling; with its numbers of documents and chunks."""

    entity: int
    text: str
    documents: int
    chunks: int


class SubgraphInfo(NamedTuple):
    """A subgraph, with the numbers of its entities and of the documents that name one of them."""

    id: int
    version: int
    entities: int
    documents: int
    summary: str


class GraphInfo(NamedTuple):
    """The figures of the whole graph; `documents` counts those that are read."""

    state: int
    building: bool
    documents: int
    entities: int
    relations: int
    modularity: float
    subgraphs: int


class Tables:
    """Reads and writes over one connection, within the transaction that it is in."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    # --- reading ----------------------------------------------------------------------------------------------------

    def info(self) -> GraphInfo:
        """Return the state and the figures of the graph."""
        facts = {name: self._fact(name) for name in _FACTS}
        building = self.unread_count() > 0 or self._one("SELECT EXISTS (SELECT 1 FROM changed)") == 1
        documents = self._one(
            "SELECT (SELECT count(DISTINCT document) FROM chunks)"
            " - (SELECT count(DISTINCT c.document) FROM pending p JOIN chunks c ON c.id = p.chunk)"
        )
        return GraphInfo(
            int(facts["graph"]),
            building,
            documents,
            self._one("SELECT count(*) FROM entities WHERE subgraph NOT NULL"),
            int(facts["relations"]),
            float(facts["modularity"]),
            self._one("SELECT count(*) FROM subgraphs"),
        )

    def subgraphs(self, offset: int, limit: int) -> list[SubgraphInfo]:
        """Subgraphs in the order of their ids."""
        rows = self._connection.execute(
            "SELECT g.id, g.version, (SELECT count(*) FROM entities e WHERE e.subgraph = g.id),"
            " (SELECT count(DISTINCT c.document) FROM entities e JOIN spellings s ON s.entity = e.id"
            " JOIN mentions m ON m.spelling = s.id JOIN chunks c ON c.id = m.chunk WHERE e.subgraph = g.id),"
            " g.summary FROM subgraphs g ORDER BY g.id LIMIT ? OFFSET ?",
            (limit, offset),
        )
        return [SubgraphInfo(*row) for row in rows]

    def unread_count(self) -> int:
        """Return how many chunks are still to be read."""
        return int(self._one("SELECT count(*) FROM pending"))

    def fallen_count(self) -> int:
        """Return how many chunks the rules read in an engine's place."""
        return self._one("SELECT count(*) FROM fallen")

    def unread(self, limit: int) -> list[int]:
        """The next chunks to read, in the order of their documents' names."""
        return self._column(
            "SELECT c.id FROM pending p JOIN chunks c ON c.id = p.chunk ORDER BY c.document, c.ordinal LIMIT ?", limit
        )

    def subgraph_of(self, chunk: int) -> int:
        """The subgraph that most entities of a chunk live in; 0 where it has none."""
        sql = """SELECT e.subgraph FROM mentions m JOIN spellings s ON s.id = m.spelling
                 JOIN entities e ON e.id = s.entity WHERE m.chunk = ? AND e.subgraph NOT NULL
                 GROUP BY e.subgraph ORDER BY count(*) DESC, e.subgraph LIMIT 1"""
        row = self._connection.execute(sql, (chunk,)).fetchone()
        return int(row[0]) if row else 0

    def state(self) -> str:
        """Return the state of the store that the chunks are from."""
        return self._fact("store")

    def number(self) -> str:
        """Return the random number that identifies the graph, and never changes."""
        return self._fact("number")

    def chunks(self) -> Ids:
        """The ids of all chunks, ascending."""
        return np.array(self._column("SELECT id FROM chunks ORDER BY id"), dtype=np.int64)

    def spellings(self) -> list[Spelling]:
        """Return all spellings."""
        return [
            Spelling(*row) for row in self._connection.execute("SELECT id, text, entity FROM spellings ORDER BY id")
        ]

    def named(self) -> Iterator[tuple[int, list[int]]]:
        """Yield each chunk that names entities, and these entities."""
        sql = "SELECT m.chunk, s.entity FROM mentions m JOIN spellings s ON s.id = m.spelling ORDER BY m.chunk"
        for chunk, rows in groupby(self._connection.execute(sql), itemgetter(0)):
            yield chunk, [entity for _, entity in rows]

    def stated(self) -> dict[int, list[tuple[int, int]]]:
        """Return by chunk the pairs of entities that it relates to each other."""
        sql = """SELECT t.chunk, a.entity, b.entity FROM stated t JOIN spellings a ON a.id = t.one
                 JOIN spellings b ON b.id = t.other ORDER BY t.chunk"""
        return {
            chunk: [(one, other) for _, one, other in rows]
            for chunk, rows in groupby(self._connection.execute(sql), itemgetter(0))
        }

    def homes(self) -> list[tuple[int, int]]:
        """Return each entity that is in a subgraph, and that subgraph."""
        return self._connection.execute("SELECT id, subgraph FROM entities WHERE subgraph IS NOT NULL").fetchall()

    def gone(self) -> list[int]:
        """Return the removed chunks that the network does not know of yet."""
        return self._column("SELECT chunk FROM gone")

    def changed(self) -> dict[int, int | None]:
        """Return the entities that gained or lost a mention, and the subgraph of each."""
        sql = "SELECT c.entity, e.subgraph FROM changed c JOIN entities e ON e.id = c.entity"
        return dict(self._connection.execute(sql).fetchall())

    def named_entities(self, subgraph: int) -> list[NamedEntity]:
        """The entities of a subgraph."""
        sql = """SELECT e.id, s.text, count(DISTINCT c.document), count(DISTINCT m.chunk)
                 FROM entities e JOIN spellings s ON s.entity = e.id JOIN mentions m ON m.spelling = s.id
                 JOIN chunks c ON c.id = m.chunk WHERE e.subgraph = ? GROUP BY s.id ORDER BY e.id, 4 DESC, s.text"""
        found: list[NamedEntity] = []
        for _, rows in groupby(self._connection.execute(sql, (subgraph,)), itemgetter(0)):
            spelled = [NamedEntity(*row) for row in rows]
            documents = spelled[0].documents if len(spelled) == 1 else self._documents(spelled[0].entity)
            found.append(spelled[0]._replace(documents=documents, chunks=sum(each.chunks for each in spelled)))
        return found

    # --- writing ----------------------------------------------------------------------------------------------------

    def follow(self, gone: Ids, new: Iterable[tuple[int, str, int]], state: str) -> None:
        """Apply what the store removed and added, (chunk, document, ordinal), up to this `state` of it."""
        self._connection.executemany("DELETE FROM chunks WHERE id = ?", ((id,) for id in gone.tolist()))
        self._connection.executemany("INSERT INTO chunks VALUES (?, ?, ?)", new)
        self._connection.execute("UPDATE facts SET value = ? WHERE name = 'store'", (state,))

    def add_entity(self) -> int:
        """Add an entity, and return its id."""
        return int(self._connection.execute("INSERT INTO entities DEFAULT VALUES").lastrowid or 0)

    def add_spelling(self, text: str, entity: int) -> int:
        """Add a spelling of an entity, and return its id."""
        sql = "INSERT INTO spellings (text, entity) VALUES (?, ?)"
        return int(self._connection.execute(sql, (text, entity)).lastrowid or 0)

    def read_by(self, extractor: str) -> None:
        """Queue chunks for this extractor: all that another one read, and those for which it had no answer."""
        sql = "UPDATE facts SET value = ? WHERE name = 'extractor' AND value <> ?"
        if self._connection.execute(sql, (extractor, extractor)).rowcount:
            self._connection.execute("INSERT OR IGNORE INTO pending SELECT id FROM chunks")
            self._connection.execute("DELETE FROM fallen")
        self._connection.execute("INSERT OR IGNORE INTO pending SELECT chunk FROM fallen WHERE NOT answered")

    def begin(self, chunk: int) -> bool:
        """Tell whether a chunk is still to be read; mark it as read, without any content yet."""
        if not self._connection.execute("DELETE FROM pending WHERE chunk = ?", (chunk,)).rowcount:
            return False
        for table in ("mentions", "stated", "fallen"):
            self._connection.execute(f"DELETE FROM {table} WHERE chunk = ?", (chunk,))
        return True

    def add_mentions(self, chunk: int, spellings: Iterable[int]) -> None:
        """Store the spellings that a chunk names."""
        rows = ((chunk, spelling) for spelling in spellings)
        self._connection.executemany("INSERT INTO mentions (chunk, spelling) VALUES (?, ?)", rows)

    def add_stated(self, chunk: int, pairs: Iterable[tuple[int, int]]) -> None:
        """Store the pairs of spellings that a chunk relates to each other."""
        rows = ((chunk, one, other) for one, other in pairs)
        self._connection.executemany("INSERT INTO stated (chunk, one, other) VALUES (?, ?, ?)", rows)

    def add_fallen(self, chunk: int, *, answered: bool) -> None:
        """Record that the rules read a chunk in an engine's place, which `answered` badly or not at all."""
        self._connection.execute("INSERT INTO fallen VALUES (?, ?)", (chunk, answered))

    def prune(self) -> list[Spelling]:
        """Delete changed entities' spellings that no chunk names, and entities without any; return these spellings."""
        sql = """SELECT s.id, s.text, s.entity FROM changed c JOIN spellings s ON s.entity = c.entity
                 WHERE NOT EXISTS (SELECT 1 FROM mentions m WHERE m.spelling = s.id) ORDER BY s.id"""
        spellings = [Spelling(*row) for row in self._connection.execute(sql)]
        self._connection.executemany("DELETE FROM spellings WHERE id = ?", ((each.id,) for each in spellings))
        sql = (
            "DELETE FROM entities WHERE id = ? AND NOT EXISTS (SELECT 1 FROM spellings s WHERE s.entity = entities.id)"
        )
        self._connection.executemany(sql, ((entity,) for entity in {each.entity for each in spellings}))
        return spellings

    def add_subgraph(self) -> int:
        """Add a subgraph, and return its id, which was never used before."""
        return int(self._connection.execute("INSERT INTO subgraphs DEFAULT VALUES").lastrowid or 0)

    def settle(self, homes: Iterable[tuple[int, int | None]]) -> None:
        """Store the subgraphs of entities, drop empty subgraphs, and clear the list of changed entities."""
        self._connection.executemany(
            "UPDATE entities SET subgraph = ? WHERE id = ?", ((subgraph, entity) for entity, subgraph in homes)
        )
        self.drop_empty()
        self._connection.execute("DELETE FROM changed")

    def drop_empty(self) -> None:
        """Drop subgraphs without entities."""
        sql = "DELETE FROM subgraphs WHERE NOT EXISTS (SELECT 1 FROM entities e WHERE e.subgraph = subgraphs.id)"
        if self._connection.execute(sql).rowcount:
            self._step()

    def clear_gone(self) -> None:
        """Clear the list of removed chunks."""
        self._connection.execute("DELETE FROM gone")

    def put_summary(self, subgraph: int, summary: str) -> None:
        """Store the summary of a subgraph; a change is a new version."""
        sql = """UPDATE subgraphs SET summary = ?, version = version + 1
                 WHERE id = ? AND (summary <> ? OR version = 0)"""
        if self._connection.execute(sql, (summary, subgraph, summary)).rowcount:
            self._step()

    def put_figures(self, relations: int, modularity: float) -> None:
        """Store the figures of the whole graph."""
        sql = "UPDATE facts SET value = ? WHERE name = ?"
        self._connection.executemany(sql, ((str(relations), "relations"), (repr(modularity), "modularity")))

    def _step(self) -> None:
        self._connection.execute("UPDATE facts SET value = value + 1 WHERE name = 'graph'")

    def _documents(self, entity: int) -> int:
        return int(
            self._one(
                "SELECT count(DISTINCT c.document) FROM spellings s JOIN mentions m ON m.spelling = s.id"
                " JOIN chunks c ON c.id = m.chunk WHERE s.entity = ?",
                entity,
            )
        )

    def _one(self, sql: str, *values: object) -> int:
        found: int = self._connection.execute(sql, values).fetchone()[0]
        return found

    def _fact(self, name: str) -> str:
        return str(self._connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()[0])

    def _column(self, sql: str, *values: object) -> list[int]:
        return [row[0] for row in self._connection.execute(sql, values)]


_FACTS: Sequence[str] = ("graph", "relations", "modularity")
