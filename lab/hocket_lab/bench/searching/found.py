"""`hocket bench found`: whether search finds what answers real questions, in MTRAG's domains and corpora with spans.

Every device of these sets is a collection of its own, read with the product's defaults. The chunking evaluation's gold
is spans of characters: `span_recall` is how much of a question's spans stands in the passages. MTRAG's is passages; its
pools are small, so its figures compare with nothing published. Its questions with turns before them are searched in
three ways: the last turn alone, all turns joined, and as the product does, with those that the last one refers to.
Of questions that need several documents (multihop.py), `all_of_each` says how often all of them are among the passages
of both sides, `passages` of each.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

from rich.progress import track

from hocket_bus.messages import Prompt, Turn
from hocket_daemon.serving.search.follow_up import search_texts
from hocket_lab.bench.graph import sets
from hocket_lab.bench.questions import multihop
from hocket_lab.bench.running.product import EMBEDDER, EMBEDDING_PRECISION, EMBEDDING_THREADS
from hocket_lab.data_folder import require
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row
from hocket_retrieval.config import Precision
from hocket_tools import console

if TYPE_CHECKING:
    from hocket_retrieval.collection import Collection
    from hocket_retrieval.embedding.embedder import Embedder

ASKED = ("mtrag", "chunking")
COLUMNS = ("device", "way", "questions", "hit_1", "hit_5", "rank", "all_of_each", "span_recall", "words_returned")


def _as_asked(question: sets.Question) -> list[str]:
    return search_texts(Prompt(query=question.last, turns=[Turn(query=each, answer="") for each in question.before]))


WAYS: dict[str, Callable[[sets.Question], list[str]]] = {
    "last": lambda question: [question.last],
    "all": lambda question: [" ".join([*question.before, question.last])],
    "product": _as_asked,
}


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; `passages` are asked for in each search."""

    questions: Annotated[int, Option("Questions of each device, in a trial; 0: all.", min=0)] = 0
    passages: int = 5
    embedder: Annotated[str, Option("A name, or a folder of sentence-transformers.")] = EMBEDDER
    threads: int = EMBEDDING_THREADS
    precision: Precision = EMBEDDING_PRECISION


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Measure what is not in the report yet; there are no claims, only figures to compare with those of other code."""
    from hocket_retrieval.embedding.embedder import Embedder

    require(data, *sets.FILES, *multihop.FILES)
    report = Report(asdict(settings), json_path)
    loaded = sets.load(data)
    missing = [name for of in ASKED for name in loaded.devices(of) if not report.find(device=name, way="product")]
    if not report.find(device=multihop.DEVICE, way=multihop.PRODUCT):
        missing.append(multihop.DEVICE)
    embedder = Embedder(settings.embedder, settings.threads, settings.precision) if missing else None
    for device in track(missing, "searching", console=console.err()):
        assert embedder is not None
        if device == multihop.DEVICE:
            report.extend(multihop.measured(data, embedder, settings.passages))
        else:
            report.extend(_measured(loaded, device, embedder, settings))
    if json_path is not None:
        report.plot(json_path.with_suffix(".png"), "device", "hit_5", "of", title="Found among five passages")
    return report.finish(COLUMNS)


def _measured(loaded: sets.Sets, device: str, embedder: Embedder, settings: Settings) -> Iterator[Row]:
    """Yield the device's rows; that of whole questions comes last, so a device that has it has all."""
    from hocket_retrieval.collection import Collection

    questions = [question for question in loaded.questions if question.device == device][: settings.questions or None]
    follow_ups = [question for question in questions if question.before]
    with tempfile.TemporaryDirectory(prefix="hocket-") as folder, Collection(Path(folder), embedder) as collection:
        collection.add(loaded.documents[device])
        for way, texts in WAYS.items():
            if follow_ups:
                yield _row(
                    device, f"turns: {way}", follow_ups, _searched(collection, follow_ups, texts, settings.passages)
                )
        yield _row(device, "product", questions, _searched(collection, questions, WAYS["product"], settings.passages))


def _row(
    device: str, way: str, questions: Sequence[sets.Question], searched: Iterator[tuple[int, float | None, int]]
) -> Row:
    found = list(searched)
    spans = [recall for _, recall, _ in found if recall is not None]
    places = [place for place, _, _ in found]
    return {
        "of": questions[0].of,
        "device": device,
        "way": way,
        "questions": len(found),
        "hit_1": fmean(place == 1 for place in places),
        "hit_5": fmean(place > 0 for place in places),
        "rank": fmean(1 / place if place else 0.0 for place in places),
        "span_recall": fmean(spans) if spans else None,
        "words_returned": fmean(words for _, _, words in found),
    }


def _searched(
    collection: Collection,
    questions: Sequence[sets.Question],
    texts: Callable[[sets.Question], list[str]],
    passages: int,
) -> Iterator[tuple[int, float | None, int]]:
    """Yield, for each question, the place of the first evidence (0: none), the recall of its spans, and words found."""
    for question in questions:
        query, *others = texts(question)
        found = collection.search(query, passages, others=tuple(others)).passages
        held = [question.gold.holds(passage.document, passage.text) for passage in found]
        recall = question.gold.recall([passage.text for passage in found]) if question.gold.spans else None
        yield held.index(True) + 1 if any(held) else 0, recall, sum(len(each.text.split()) for each in found)
