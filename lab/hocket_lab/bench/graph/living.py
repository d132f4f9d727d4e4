"""Upkeep of a graph: sentences and passages are replaced and documents removed, one after another, without a rebuild.

Each change is measured by how many summaries are new or have a new version, and by the modularity beside that of the
same network divided anew. Vectors play no part here, so documents get one and the same.
"""

from __future__ import annotations

import itertools
import random
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from rich.progress import track

from hocket_lab.bench.graph.sets import Sets
from hocket_lab.reporting.report import Report, Row
from hocket_retrieval.collection import Collection
from hocket_retrieval.config import GraphConfig
from hocket_retrieval.graph.build import load
from hocket_retrieval.graph.moves import Moves
from hocket_retrieval.graph.network import Network
from hocket_retrieval.graph.partition import divide
from hocket_retrieval.graph.tables import Tables
from hocket_retrieval.text.chunking import sentences
from hocket_tools import console
from hocket_tools.embedding import FlatEmbedder
from hocket_tools.train.wikitext import Document

PASSAGES = 1_000
CHANGES = {"sentence": 60, "passage": 60, "removal": 85}
MAX_REWRITTEN = {"sentence": 0.02, "passage": 0.04, "removal": 0.02}
MIN_MODULARITY = 0.99  # of a rebuild's
MIN_PACE = 1_000
MIN_WORDS = 5  # of a sentence
ALL = 1 << 30
COLUMNS = ("kind", "changes", "rewritten", "rewritten_most", "modularity_of_rebuilt", "subgraphs", "milliseconds")


def measure(report: Report, sets: Sets, seed: int) -> None:
    """Make all changes once, and add a row for each."""
    if report.rows:
        return
    rng = random.Random(seed)
    passages = [each for name in sets.devices("mtrag") for each in sets.documents[name] if each.text]
    passages = list({each.name: each for each in passages}.values())
    rng.shuffle(passages)
    limit = GraphConfig().entities
    with tempfile.TemporaryDirectory(prefix="hocket-graph-") as folder:
        with Collection(Path(folder) / "documents", FlatEmbedder()) as collection:
            collection.add(passages[:PASSAGES])
            with closing(sqlite3.connect(Path(folder) / "documents" / "graph.sqlite")) as graph:
                rows = [_pace(collection, graph, limit)]
                before = _State(_versions(collection), _members(_network(graph)))
                for kind, change in track(list(_changes(passages, rng)), "changes", console=console.err()):
                    row, before, network = _changed(collection, graph, kind, change, before)
                    rows.append(row | {"rebuilt": _divided(network, limit)})
        report.extend(rows)


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return a row with the results of each kind of change."""
    return [
        {
            "kind": kind,
            "changes": len(own),
            "rewritten": fmean(float(row["rewritten"] or 0) for row in own),
            "rewritten_most": max(float(row["rewritten"] or 0) for row in own),
            "modularity_of_rebuilt": min(float(row["modularity"] or 0) / float(row["rebuilt"] or 1) for row in own),
            "subgraphs": own[-1]["subgraphs"],
            "milliseconds": 1_000 * fmean(float(row["seconds"] or 0) for row in own),
        }
        for kind in CHANGES
        if (own := [row for row in rows if row["kind"] == kind])
    ]


def claim(report: Report) -> None:
    """Claim the aims of the issue."""
    report.summary = summary(report.rows)
    for row in report.summary:
        kind, share = str(row["kind"]), float(row["rewritten"] or 0)
        maximum = MAX_REWRITTEN[kind]
        report.claim(f"summaries rewritten by a {kind}, mean share", f"<= {maximum}", share, share <= maximum)
        kept = float(row["modularity_of_rebuilt"] or 0)
        name = f"modularity after each {kind}, of a rebuild's"
        report.claim(name, f">= {MIN_MODULARITY}", kept, kept >= MIN_MODULARITY)
    changes = [row for row in report.rows if row["kind"] in CHANGES]
    for name, what in (
        ("moved_ids", "untouched subgraphs with another id"),
        ("sourceless", "entities without a source"),
    ):
        count = sum(int(row[name] or 0) for row in changes)
        report.claim(what, "0", count, count == 0)
    pace = float(report.rows[0]["chunks_per_s"] or 0)
    report.claim("chunks a second of one core", f">= {MIN_PACE}", pace, pace >= MIN_PACE)


def _pace(collection: Collection, graph: sqlite3.Connection, limit: int) -> Row:
    """Measure the processor time of extraction, graph and partition, with their tables, and of all with summaries."""
    chunks, started = collection.status().chunks, time.process_time()
    collection.graph.build(lambda: collection.graph.extraction().unread == 0)
    read = time.process_time()
    collection.build()
    whole = time.process_time()
    network = _network(graph)
    loaded = time.process_time()
    _divided(network, limit)
    seconds = read - started + time.process_time() - loaded
    return {"kind": "pace", "chunks": chunks, "chunks_per_s": chunks / seconds, "seconds": whole - started}


def _changes(passages: Sequence[Document], rng: random.Random) -> Iterator[tuple[str, Document]]:
    """Yield (kind, the document as it is afterwards, or that is removed), as many of each kind as CHANGES says."""
    texts = {each.name: each.text for each in passages[:PASSAGES]}
    spare = iter(passages[PASSAGES:])
    others = [text for each in passages[PASSAGES + CHANGES["passage"] :] for text in _sentences(each.text)]
    rng.shuffle(others)
    for kind, count in CHANGES.items():
        for number in range(count):
            name = rng.choice([name for name, text in texts.items() if len(_sentences(text)) > 1])
            if kind == "sentence":
                texts[name] = texts[name].replace(rng.choice(_sentences(texts[name])), others[number], 1)
            elif kind == "passage":
                texts[name] = next(spare).text
            yield kind, Document(name, "", texts[name])
            if kind == "removal":
                del texts[name]


def _sentences(text: str) -> list[str]:
    fragments = (text[start:end].strip() for start, end in sentences(text))
    return [piece for piece in fragments if len(piece.split()) >= MIN_WORDS]


class _State(NamedTuple):
    versions: dict[int, int]
    members: dict[frozenset[int], int]


def _changed(
    collection: Collection, graph: sqlite3.Connection, kind: str, after: Document, before: _State
) -> tuple[Row, _State, Network]:
    """Make a change; return its row and the state of the graph afterwards."""
    started = time.perf_counter()
    if kind == "removal":
        collection.remove([after.name])
    else:
        collection.add([after])
        collection.build()
    seconds = time.perf_counter() - started
    network = _network(graph)
    now = _State(_versions(collection), _members(network))
    rewritten = sum(before.versions.get(id) != version for id, version in now.versions.items())
    row: Row = {
        "kind": kind,
        "rewritten": rewritten / len(now.versions),
        "modularity": network.modularity,
        "subgraphs": len(now.versions),
        "moved_ids": sum(id != now.members.get(own, id) for own, id in before.members.items()),
        "sourceless": _sourceless(graph),
        "seconds": seconds,
    }
    return row, now, network


def _versions(collection: Collection) -> dict[int, int]:
    return {each.id: each.version for each in collection.graph.page(0, ALL)[1]}


def _members(network: Network) -> dict[frozenset[int], int]:
    return {frozenset(own): id for id, own in network.members.items()}


def _network(graph: sqlite3.Connection) -> Network:
    return load(Tables(graph)).network


def _divided(network: Network, limit: int) -> float:
    """Return the modularity of the same network when it is divided anew."""
    for entity in list(network.home):
        network.leave(entity)
    ids = itertools.count(1)
    divide(network, limit, Moves(network, limit, lambda: next(ids)))
    return network.modularity


def _sourceless(graph: sqlite3.Connection) -> int:
    sql = """SELECT count(*) FROM entities e WHERE NOT EXISTS
             (SELECT 1 FROM spellings s JOIN mentions m ON m.spelling = s.id WHERE s.entity = e.id)"""
    return int(graph.execute(sql).fetchone()[0])
