"""Routing by summaries alone: does the cloud find the right device, what is found there, and how little is stored?"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hocket_lab.bench.graph.collections import summaries_of
from hocket_lab.bench.graph.sets import Question, Sets
from hocket_lab.reporting.report import Report, Row
from hocket_retrieval.collection import Collection
from hocket_retrieval.embedding.embedder import Embedder
from hocket_retrieval.graph.summary_index import Summary, SummaryIndex
from hocket_retrieval.searching.search import Passage

EVIDENCE = 5
ENTITIES = (20, 80)  # of a part, beside 40
SETS = ("mtrag", "chunking")
COLUMNS = ("set", "questions", "devices", "by", "first", "first_two", "recall_1", "recall_2", "recall_all", "one_place")


@dataclass(frozen=True, slots=True)
class World:
    """Devices that share with one index of summaries, and for each set a collection of all its documents."""

    collections: dict[str, Collection]
    index: SummaryIndex
    together: dict[str, Collection]


def share(collections: dict[str, Collection], index: SummaryIndex) -> int:
    """Store in the index what every device may share; return the number of these summaries."""
    count = 0
    for name, collection in collections.items():
        subgraphs = collection.graph.page(0, 1_000_000)[1]
        kept = [Summary(each.id, each.version, each.summary) for each in subgraphs if each.summary]
        index.keep(name, "bench", kept)
        count += len(kept)
    return count


def measure(report: Report, sets: Sets, world: World) -> None:
    """Add a row for each set and way of asking."""
    everywhere = sorted(world.collections)
    for of in SETS:
        questions = [question for question in sets.questions if question.of == of]
        devices = sets.devices(of)
        hard = _fewest_shared(questions, world.collections)
        ways: list[tuple[str, Sequence[Question], Sequence[str], Callable[[Question], str]]] = [
            ("summaries", questions, devices, lambda question: question.text),
            ("summaries, last turn", questions, devices, lambda question: question.last),
            ("summaries, fewest words shared", hard, devices, lambda question: question.text),
            ("summaries, all devices", questions, everywhere, lambda question: question.text),
        ]
        for by, asked, among, text in ways:
            if report.find(set=of, by=by) is None:
                report.add(_row(world, of, by, asked=asked, among=among, text=text))
        for entities in ENTITIES:
            if report.find(set=of, by=f"summaries, {entities} entities") is None:
                report.add(_sized(sets, of, entities, world.together[of].embedder))
        if report.find(set=of, by="best passage") is None:
            report.add(_by_passages(world, of, questions))


def claim(report: Report) -> None:
    """Claim the aims of the issue, by set."""
    for of in SETS:
        row = report.find(set=of, by="summaries") or {}
        first, two = float(row["first"] or 0), float(row["first_two"] or 0)
        report.claim(f"{of}: right device first", "≥ 0.90", first, first >= 0.90)
        report.claim(f"{of}: right device among two", "≥ 0.97", two, two >= 0.97)
        place = float(row["one_place"] or 1)
        for name, minimum in (("recall_1", 0.93), ("recall_2", 0.97)):
            ratio = float(row[name] or 0) / place
            report.claim(f"{of}: {name} over one place", f"≥ {minimum}", ratio, ratio >= minimum)


def cost(report: Report, sets: Sets, world: World) -> None:
    """Measure bytes of an index of summaries and of one of documents: texts, their words, and vectors of two bytes."""
    for of in SETS:
        if report.find(set=of, by="bytes") is not None:
            continue
        collections = [world.collections[name] for name in sets.devices(of)]
        texts = [text for each in collections for _, text in each.texts(0, 1_000_000)[1]]
        summaries = [text.summary for each in collections for text in each.graph.page(0, 1_000_000)[1] if text.summary]
        whole, kept = _bytes(texts), _bytes(summaries)
        saved = 1 - kept / whole
        row: Row = {"set": of, "by": "bytes", "passages": len(texts), "summaries": len(summaries)}
        report.add(row | {"index_bytes": whole, "kept_bytes": kept, "saved": saved})


def claim_cost(report: Report) -> None:
    """Claim the issue's aim of fewer bytes."""
    for of in SETS:
        row = report.find(set=of, by="bytes") or {}
        saved = float(row["saved"] or 0)
        report.claim(f"{of}: fewer bytes in the cloud", "≥ 0.85", saved, saved >= 0.85)


def _row(
    world: World, of: str, by: str, *, asked: Sequence[Question], among: Sequence[str], text: Callable[[Question], str]
) -> Row:
    ranked = [_ranked(world.index, text(question), among) for question in asked]
    row: Row = {"set": of, "by": by, "questions": len(asked), "devices": len(among)}
    row["first"] = _mean(names[:1] == [question.device] for names, question in zip(ranked, asked, strict=True))
    row["first_two"] = _mean(question.device in names[:2] for names, question in zip(ranked, asked, strict=True))
    for name, k in (("recall_1", 1), ("recall_2", 2)):
        pairs = zip(ranked, asked, strict=True)
        row[name] = _mean(_found(question, _gathered(world, text(question), names[:k])) for names, question in pairs)
    row["recall_all"] = _mean(_found(question, _gathered(world, text(question), among)) for question in asked)
    one = world.together[of]
    row["one_place"] = _mean(_found(question, one.search(text(question), EVIDENCE).passages) for question in asked)
    return row


def _ranked(index: SummaryIndex, question: str, among: Sequence[str]) -> list[str]:
    return [match.device for match in index.match(question, among)]


def _gathered(world: World, question: str, names: Iterable[str]) -> Sequence[Passage]:
    """Return the best of the passages that these devices find, by their scores."""
    evidence = [each for name in names for each in world.collections[name].search(question, EVIDENCE).passages]
    return sorted(evidence, key=lambda each: -each.score)[:EVIDENCE]


def _sized(sets: Sets, of: str, entities: int, embedder: Embedder) -> Row:
    """Measure how often the right device is found with parts of another size than 40 entities."""
    devices = sets.devices(of)
    questions = [question for question in sets.questions if question.of == of]
    with tempfile.TemporaryDirectory() as folder:
        index = SummaryIndex(Path(folder) / "summaries.sqlite", embedder)
        for name in devices:
            texts = summaries_of(sets.documents[name], entities=entities)
            index.keep(name, "bench", [Summary(id, 1, text) for id, text in enumerate(texts)])
        ranked = [_ranked(index, question.text, devices) for question in questions]
        index.close()
    row: Row = {
        "set": of,
        "by": f"summaries, {entities} entities",
        "questions": len(questions),
        "devices": len(devices),
    }
    row["first"] = _mean(names[:1] == [question.device] for names, question in zip(ranked, questions, strict=True))
    row["first_two"] = _mean(question.device in names[:2] for names, question in zip(ranked, questions, strict=True))
    return row


def _by_passages(world: World, of: str, questions: Sequence[Question]) -> Row:
    """Measure how often the best passage of all is the right device's, as if the cloud had every document."""
    owners = {text: name for name, each in world.collections.items() for _, text in each.texts(0, 1_000_000)[1]}
    right = []
    for question in questions:
        best = world.together[of].search(question.text, 1).passages
        right.append(bool(best) and owners.get(best[0].text) == question.device)
    return {"set": of, "by": "best passage", "questions": len(questions), "first": _mean(right)}


def _fewest_shared(questions: Sequence[Question], collections: dict[str, Collection]) -> list[Question]:
    """Return the half of the questions that share the fewest words with what answers them."""

    def shared(question: Question) -> float:
        words = set(question.text.lower().split())
        gold = question.gold.words() or _words_of(collections[question.device], question)
        return len(words & gold) / max(1, len(words))

    return sorted(questions, key=shared)[: len(questions) // 2]


def _words_of(collection: Collection, question: Question) -> frozenset[str]:
    found = collection.search(question.text, 20).passages
    gold = [each.text for each in found if question.gold.holds(each.document, each.text)]
    return frozenset(word for text in gold for word in text.lower().split())


def _found(question: Question, passages: Iterable[Passage]) -> bool:
    return any(question.gold.holds(each.document, each.text) for each in passages)


def _mean(values: Iterable[bool]) -> float:
    return float(np.mean([float(value) for value in values]))


def _bytes(texts: Sequence[str]) -> int:
    """Return the size of a file that holds texts, their words to search by, and a vector for each."""
    vectors: NDArray[np.float16] = np.random.default_rng(0).normal(size=(len(texts), 384)).astype(np.float16)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.sqlite"
        with closing(sqlite3.connect(path)) as database:
            database.execute("CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT, vector BLOB)")
            database.execute("CREATE VIRTUAL TABLE words USING fts5 (text, content = 'texts', content_rowid = 'id')")
            rows = ((number, text, vectors[number].tobytes()) for number, text in enumerate(texts))
            database.executemany("INSERT INTO texts VALUES (?, ?, ?)", rows)
            database.execute("INSERT INTO words (words) VALUES ('rebuild')")
            database.commit()
            database.execute("VACUUM")
        return path.stat().st_size
