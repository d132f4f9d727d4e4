"""Questions whose answer needs two to four documents that name each other, dealt to both sides in turn (MuSiQue)."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from hocket_lab.reporting.report import Row

if TYPE_CHECKING:
    from hocket_retrieval.collection import Collection
    from hocket_retrieval.embedding.embedder import Embedder

CORPUS, QUESTIONS = "multihop_musique/corpus.json", "multihop_musique/questions.json"
FILES = (CORPUS, QUESTIONS)
OF, DEVICE = "multihop", "multihop, both sides"
ONE_STEP, PRODUCT, BRIDGES = "one step", "product", "product, bridges = true"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the numbers in the corpus of all documents that its answer needs."""

    text: str
    gold: frozenset[int]


def measured(data: Path, embedder: Embedder, passages: int) -> Iterator[Row]:
    """Yield results by number of documents needed: after one step, as the product does, and with names passed on."""
    from hocket_retrieval.collection import Collection

    corpus = json.loads((data / CORPUS).read_text(encoding="utf-8"))
    asked = questions(data)
    with ExitStack() as stack:
        sides = list[Collection]()
        for side in range(2):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="hocket-"))
            sides.append(stack.enter_context(Collection(Path(folder), embedder)))
            mine = [(str(at), each["title"], each["text"]) for at, each in enumerate(corpus) if at % 2 == side]
            sides[side].add(mine)
        one_step = [_found(sides, question, passages, steps=1) for question in asked]
        both = [_found(sides, question, passages) for question in asked]
        told = [_found(sides, question, passages, tells=True) for question in asked]
    ways = {ONE_STEP: one_step, BRIDGES: told, PRODUCT: both}
    for hops in sorted({len(question.gold) for question in asked}):
        for way, found in ways.items():
            mine_of = [(each, one) for each, one in zip(asked, found, strict=True) if len(each.gold) == hops]
            yield _row(f"{hops} documents, {way}", mine_of)
    for way, found in ways.items():
        yield _row(way, list(zip(asked, found, strict=True)))


def questions(data: Path) -> list[Question]:
    """Return all questions; a document is identified by its title and text."""
    corpus = json.loads((data / CORPUS).read_text(encoding="utf-8"))
    numbers = {(each["title"], each["text"]): at for at, each in reversed(list(enumerate(corpus)))}
    return [
        Question(
            row["question"],
            frozenset(
                numbers[each["title"], each["paragraph_text"]] for each in row["paragraphs"] if each["is_supporting"]
            ),
        )
        for row in json.loads((data / QUESTIONS).read_text(encoding="utf-8"))
    ]


def _found(
    sides: Sequence[Collection], question: Question, passages: int, *, tells: bool = False, steps: int = 2
) -> list[int]:
    """Return the documents that both sides find, the best scored first; the first side `tells` the other its names."""
    device, cloud = sides
    own = device.search(question.text, passages, steps=steps)
    other = cloud.search(question.text, passages, elsewhere=own.trail if tells else None, steps=steps)
    found = [each for passage in (*own.passages, *other.passages) for each in (passage, *passage.led)]
    return [int(each.document) for each in sorted(found, key=lambda each: -each.score)]


def _row(way: str, found: Sequence[tuple[Question, Sequence[int]]]) -> Row:
    places = [
        next((at for at, document in enumerate(documents, 1) if document in question.gold), 0)
        for question, documents in found
    ]
    return {
        "of": OF,
        "device": DEVICE,
        "way": way,
        "questions": len(found),
        "hit_1": fmean(place == 1 for place in places),
        "hit_5": fmean(0 < place <= 5 for place in places),
        "rank": fmean(1 / place if place else 0.0 for place in places),
        "all_of_each": fmean(question.gold <= {*documents} for question, documents in found),
        "span_recall": None,
        "words_returned": None,
    }
