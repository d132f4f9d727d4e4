"""The build of the graph from the store: chunks are read batch by batch, then changed entities are placed.

The work that is left is recorded in the tables. Each step is one transaction that waits for nothing: chunks are read
before it. The network in memory is loaded from the tables when it is first needed, and dropped when a step fails.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..sqlite_file import SqliteFile
from ..stores.protocol import DocumentStore, Moment
from ..text.phrases import is_name
from .leaving import Quotes, shareable
from .moves import Moves
from .network import Network
from .partition import divide, gather
from .reading import Extractor, Reading
from .resolve import Keys, key_of
from .summary import strongest, summary
from .tables import SCHEMA, SCHEMA_VERSION, GraphInfo, Spelling, SubgraphInfo, Tables


class Extraction(NamedTuple):
    """A line about the extractor, and the numbers of unread chunks and of those that the rules read in its place."""

    fact: str
    unread: int
    fallen: int


@dataclass
class Memory:
    """The content of the tables, cached in memory."""

    network: Network = field(default_factory=Network)
    keys: Keys = field(default_factory=Keys)
    spellings: dict[str, Spelling] = field(default_factory=dict)


class Graph:
    """The graph of a store's documents, in subgraphs of at most `entities` each. Any thread may call all methods.

    A summary names what at least `min_documents` documents hold. `build` is for one thread at a time.
    """

    def __init__(
        self, path: Path, store: DocumentStore, extractor: Extractor, entities: int, min_documents: int
    ) -> None:
        """Open, or make, the file at `path`. Raises StoreError when it is damaged or of a later version."""
        self._file = SqliteFile(path, SCHEMA_VERSION, lambda _: SCHEMA, "move it away: it is made anew")
        self._store = store
        self._extractor = extractor
        self._limit = entities
        self._min_documents = min_documents
        self._changing = threading.Lock()
        self._held: Memory | None = None
        with self._file.writing() as connection:
            tables = Tables(connection)
            tables.read_by(extractor.name)
            self.number = tables.number()

    def close(self) -> None:
        """Close the file; no method may be called afterwards."""
        self._file.close()

    def build(self, interrupted: Callable[[], bool]) -> None:
        """Read the unread chunks and update the graph; what is left when `interrupted` is for another call."""
        while not interrupted():
            self._catch_up()
            waiting = self._waiting()
            readings = list(self._readings(waiting, interrupted))
            with self._step() as (tables, memory, moment):
                for chunk, reading in readings:
                    _take(tables, memory, chunk, reading)
                if not waiting:
                    self._follow(tables, memory, moment)
                    return

    def forget(self) -> None:
        """Remove names that no document holds any more, from the graph and from the disk."""
        self._catch_up()
        with self._step() as (tables, memory, moment):
            self._follow(tables, memory, moment)
        self._file.purge()

    def is_behind(self) -> bool:
        """Tell whether the store has changed since the graph last followed it."""
        with self._file.reading() as connection, self._store.moment() as moment:
            return Tables(connection).state() != moment.state()

    def info(self) -> GraphInfo:
        """Return the state and the figures of the graph."""
        with self._file.reading() as connection:
            return self._info(Tables(connection))

    def extraction(self) -> Extraction:
        """Return the progress of reading, and who reads."""
        with self._file.reading() as connection:
            tables = Tables(connection)
            unread, fallen = tables.unread_count(), tables.fallen_count()
        in_its_place = f"; {fallen} read by rules in its place" if fallen else ""
        return Extraction(self._extractor.fact + in_its_place, unread, fallen)

    def page(self, offset: int, limit: int) -> tuple[GraphInfo, list[SubgraphInfo]]:
        """Return the figures of the graph, and its subgraphs from the `offset`-th on."""
        with self._file.reading() as connection:
            tables = Tables(connection)
            return self._info(tables), tables.subgraphs(offset, limit)

    def subgraphs_of(self, chunks: Iterable[int]) -> list[int]:
        """Return for each chunk the subgraph that most of its entities are in; 0 where it has none."""
        with self._file.reading() as connection:
            return list(map(Tables(connection).subgraph_of, chunks))

    def _info(self, tables: Tables) -> GraphInfo:
        info = tables.info()
        with self._store.moment() as moment:
            return info._replace(building=info.building or moment.state() != tables.state())

    def _catch_up(self) -> None:
        """Apply what changed in the store since the state that the tables stand for."""
        with self._changing, self._file.writing() as connection, self._store.moment() as moment:
            tables, state = Tables(connection), moment.state()
            if tables.state() == state:
                return
            known, ids = tables.chunks(), moment.ids()
            new = np.setdiff1d(ids, known, assume_unique=True)
            tables.follow(np.setdiff1d(known, ids, assume_unique=True), moment.located(new), state)

    def _waiting(self) -> list[tuple[int, str]]:
        """Return (id, text) of the next chunks to read; the text of one that has gone meanwhile is empty."""
        with self._file.reading() as connection:
            ids = Tables(connection).unread(self._extractor.at_once)
        with self._store.moment() as moment:
            texts = {chunk.id: chunk.text for chunk in moment.chunks(ids)}
        return [(id, texts.get(id, "")) for id in ids]

    def _readings(
        self, waiting: Iterable[tuple[int, str]], interrupted: Callable[[], bool]
    ) -> Iterator[tuple[int, Reading]]:
        """Yield what each chunk says, up to the one at which reading is interrupted."""
        for chunk, text in waiting:
            reading = self._extractor.read(text, interrupted)
            if reading is None:
                return
            yield chunk, reading

    @contextmanager
    def _step(self) -> Iterator[tuple[Tables, Memory, Moment]]:
        with self._changing:
            held, self._held = self._held, None
            with self._file.writing() as connection, self._store.moment() as moment:
                tables = Tables(connection)
                held = held or load(tables)
                yield tables, held, moment
            self._held = held

    def _follow(self, tables: Tables, memory: Memory, moment: Moment) -> None:
        """Remove gone chunks, place changed entities unless chunks are still unread, and renew summaries."""
        network = memory.network
        for chunk in tables.gone():
            network.remove(chunk)
        tables.clear_gone()
        changed = tables.changed()
        for entity, subgraph in changed.items():
            if subgraph is not None and entity in network.near:  # it may have been gone when the network was made
                network.put(entity, subgraph)
        stale = {subgraph for subgraph in changed.values() if subgraph is not None}
        for spelling in tables.prune():
            del memory.spellings[spelling.text]
            memory.keys.discard(key_of(spelling.text))
        if tables.unread_count():
            tables.drop_empty()
        else:
            stale |= self._place(tables, network, changed)
        quotes = Quotes(moment)
        for subgraph in sorted(stale & network.members.keys()):
            named_entities = shareable(tables.named_entities(subgraph), self._min_documents)
            text = summary(named_entities, strongest(network, network.members[subgraph]), quotes.cross)
            tables.put_summary(subgraph, text)
        tables.put_figures(network.relations, network.modularity)

    def _place(self, tables: Tables, network: Network, changed: Mapping[int, int | None]) -> set[int]:
        """Place the changed entities; return the subgraphs that an entity joined or left."""
        moves = Moves(network, self._limit, tables.add_subgraph)
        if len(network.near) > 2 * len(network.home):
            divide(network, self._limit, moves)
        else:
            queue = {entity for entity in changed if entity in network.near}
            lost: Counter[int] = Counter()
            for entity, subgraph in changed.items():
                if (subgraph is None) == (entity in network.near):  # it woke, or fell asleep
                    queue |= network.beside(entity)
                if subgraph is not None and entity not in network.near:
                    lost[subgraph] += 1
            for subgraph, count in lost.items():
                if len(network.members.get(subgraph, ())) + count >= self._limit:
                    queue |= network.drawn_to(subgraph)
            gather(network, sorted(queue), self._limit, moves)
            moves.settle(queue)
        tables.settle((entity, network.home.get(entity)) for entity in sorted(moves.moved | set(changed)))
        return moves.touched


def load(tables: Tables) -> Memory:
    """Load the tables into memory."""
    memory = Memory()
    for spelling in tables.spellings():
        _keep(memory, spelling)
    stated = tables.stated()
    for chunk, entities in tables.named():
        memory.network.add(chunk, entities, stated.get(chunk, ()))
    for entity, subgraph in tables.homes():
        if entity in memory.network.near:
            memory.network.put(entity, subgraph)
    return memory


def _keep(memory: Memory, spelling: Spelling) -> None:
    memory.spellings[spelling.text] = spelling
    memory.keys.add(key_of(spelling.text), spelling.entity)
    if is_name(spelling.text):
        memory.network.mark_name(spelling.entity)


def _take(tables: Tables, memory: Memory, chunk: int, reading: Reading) -> None:
    """Store what a chunk says in place of what it said before, unless it is gone meanwhile."""
    if not tables.begin(chunk):
        return
    memory.network.remove(chunk)
    spelled = {mention: _spelling(tables, memory, mention) for mention in reading.mentions}
    stated = [(spelled[one], spelled[other]) for one, other in reading.relations]
    tables.add_mentions(chunk, sorted(each.id for each in spelled.values()))
    tables.add_stated(chunk, ((one.id, other.id) for one, other in stated))
    if reading.by != "extractor":
        tables.add_fallen(chunk, answered=reading.by == "rules: bad answer")
    entities = (each.entity for each in spelled.values())
    memory.network.add(chunk, entities, ((one.entity, other.entity) for one, other in stated))


def _spelling(tables: Tables, memory: Memory, text: str) -> Spelling:
    if (known := memory.spellings.get(text)) is not None:
        return known
    entity = memory.keys.find(key_of(text))
    if entity is None:
        entity = tables.add_entity()
    spelling = Spelling(tables.add_spelling(text, entity), text, entity)
    _keep(memory, spelling)
    return spelling
