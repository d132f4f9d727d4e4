"""`hocket bench relevance`: does a score of 0.7 hold in seven of ten cases, and is the order that it makes the best?

The calibration of relevance.py is fitted over candidates of the sets of found.py, on all sets but the one whose order
is shown; the coefficient of the rank is taken as it is. Beside the questions of a set others are asked of its documents
that these cannot answer. Reliability is of the product's own probabilities: of the best `passages` of each question,
how many hold.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_lab.bench.answers.rule import reliability
from hocket_lab.bench.graph import sets
from hocket_lab.bench.questions import multihop
from hocket_lab.bench.running.product import EMBEDDER, EMBEDDING_PRECISION, EMBEDDING_THREADS
from hocket_lab.bench.searching.conditional import scaled, weighed
from hocket_lab.data_folder import require
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row, Value
from hocket_retrieval.config import Precision
from hocket_retrieval.searching.finding import CANDIDATES, SCORED, fuse
from hocket_retrieval.searching.relevance import SHIPPED, Telling, placed
from hocket_retrieval.searching.scoring import cosines
from hocket_retrieval.text.heads import above
from hocket_tools import console

if TYPE_CHECKING:
    from hocket_retrieval.collection import Collection
    from hocket_retrieval.embedding.embedder import Embedder

Text = tuple[str, str, str]  # a document's name, title and text
INPUTS = ("cosine", "words", "names")
OF = ("mtrag", "chunking", "chats")
BINS = 10
ERROR, LOST, SAID = 0.05, 0.03, 0.85
COLUMNS = ("set", "questions", "first", "first, fitted without it", "said", "held", "lost", "unread said", *INPUTS)


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; the best `passages` of each question are looked at."""

    questions: Annotated[int, Option("Of each device, in a trial; 0: all.", min=0)] = 0
    unread: Annotated[int, Option("Questions of other sets, asked of each device.", min=0)] = 60
    passages: int = 5
    minimum: Annotated[float, Option("The evidence that is asked for.", min=0, max=1)] = (
        AggregationSettings().min_evidence
    )
    embedder: Annotated[str, Option("A name, or a folder of sentence-transformers.")] = EMBEDDER
    threads: int = EMBEDDING_THREADS
    precision: Precision = EMBEDDING_PRECISION


class Asked(NamedTuple):
    """A question of a device's documents; `holds` tells whether a document, or a text of it, answers it."""

    text: str
    holds: Callable[[str, str], bool]
    is_unread: bool = False


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Read what is not in the report yet; tells whether no claim misses."""
    from hocket_retrieval.embedding.embedder import Embedder

    require(data, *sets.FILES, *multihop.FILES)
    report = Report(asdict(settings), json_path)
    loaded = sets.load(data)
    devices = [device for of in OF for device in loaded.devices(of)] + [multihop.DEVICE]
    missing = [device for device in devices if report.find(device=device) is None]
    embedder = Embedder(settings.embedder, settings.threads, settings.precision) if missing else None
    for device in track(missing, "asking", console=console.err()):
        assert embedder is not None
        documents, asked = (
            _multihop(data, settings) if device == multihop.DEVICE else _of_device(loaded, device, settings)
        )
        report.extend(list(_candidates(device, documents, asked, embedder)))
    report.summary = summary(report.rows, settings)
    claim(report)
    return report.finish(COLUMNS)


def _of_device(loaded: sets.Sets, device: str, settings: Settings) -> tuple[Sequence[Text], list[Asked]]:
    own = [each for each in loaded.questions if each.device == device][: settings.questions or None]
    others = [each for each in loaded.questions if each.of != own[0].of]
    unread = random.Random(device).sample(others, settings.unread)
    asked = [Asked(each.text, each.gold.holds) for each in own]
    return loaded.documents[device], asked + [Asked(each.text, _holds_nothing, is_unread=True) for each in unread]


def _multihop(data: Path, settings: Settings) -> tuple[Sequence[Text], list[Asked]]:
    corpus = json.loads((data / multihop.CORPUS).read_text(encoding="utf-8"))
    documents = [(str(at), each["title"], each["text"]) for at, each in enumerate(corpus)]
    asked = multihop.questions(data)[: settings.questions or None]
    return documents, [Asked(each.text, partial(_is_one_of, each.gold)) for each in asked]


def _holds_nothing(_document: str, _text: str) -> bool:
    return False


def _is_one_of(gold: frozenset[int], document: str, _text: str) -> bool:
    return int(document) in gold


def _candidates(device: str, documents: Sequence[Text], asked: Sequence[Asked], embedder: Embedder) -> Iterator[Row]:
    """Yield a row for each candidate of each question, as the product takes and scores them."""
    from hocket_retrieval.collection import Collection

    with tempfile.TemporaryDirectory(prefix="hocket-") as folder, Collection(Path(folder), embedder) as collection:
        collection.add(documents)
        for number, question in enumerate(asked):
            for row in _of_question(collection, embedder, question):
                of: Row = {"device": device, "question": number, "unread": question.is_unread}
                yield of | row


def _of_question(collection: Collection, embedder: Embedder, asked: Asked) -> Iterator[Row]:
    vector = embedder.query(asked.text)
    with collection.store.moment() as moment:
        by_words = moment.by_words(asked.text, CANDIDATES)
        ranking = fuse(by_words, moment.by_meaning(vector, CANDIDATES))[:SCORED]
        telling, chunks = Telling.of(moment, asked.text, embedder.fingerprint), list(moment.chunks(ranking))
    near = cosines(vector, [chunk.vector for chunk in chunks])
    for place, (chunk, cosine) in enumerate(zip(chunks, near, strict=True), 1):
        words, names = telling.shares(chunk.text, above(chunk))
        probability = placed([telling.probability(cosine, chunk.text, above(chunk))], 1.0 / place)
        row: Row = {"cosine": cosine, "words": words, "names": names, "rank": 1.0 / place}
        yield row | {"probability": probability, "holds": asked.holds(chunk.document, chunk.text)}


# --- what it comes to


class Question(NamedTuple):
    """The candidates of a question: the inputs of each, its probability, and which of them hold."""

    of: str
    is_unread: bool
    inputs: NDArray[np.float64]
    ranks: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    holds: NDArray[np.bool_]

    def is_first_right(self, sums: NDArray[np.float64]) -> bool:
        """Tell whether the candidate with the largest sum holds."""
        return bool(self.holds[sums.argmax()])


def summary(rows: Sequence[Row], settings: Settings) -> list[Row]:
    """Return a row for each set, one for each bin of probabilities, and the calibration that is fitted on all sets."""
    asked = _questions(rows)
    read = dict.fromkeys(each.of for each in asked if not each.is_unread)
    found = [_of_set(of, asked, settings) for of in read]
    said, held = _best(asked, settings.passages)
    for each in reliability(said, held, BINS):
        found.append({"set": f"from {each.low:.1f}", "questions": each.cases, "said": each.said, "held": each.held})
    return [*found, _fitted(asked, settings)]


def _questions(rows: Sequence[Row]) -> list[Question]:
    by_question: dict[tuple[Value, Value], list[Row]] = {}
    for row in rows:
        by_question.setdefault((row["device"], row["question"]), []).append(row)
    return [
        Question(
            str(device).partition("-")[0],
            bool(some[0]["unread"]),
            np.array([[float(row[name] or 0.0) for name in INPUTS] for row in some]),
            np.array([float(row["rank"] or 0.0) for row in some]),
            np.array([float(row["probability"] or 0.0) for row in some]),
            np.array([bool(row["holds"]) for row in some]),
        )
        for (device, _), some in by_question.items()
    ]


def _of_set(of: str, asked: Sequence[Question], settings: Settings) -> Row:
    """Return how often the first holds, by the product and by weights of the other sets, and what is said unknown."""
    mine = [each for each in asked if each.of == of and not each.is_unread]
    unread = [each for each in asked if each.of == of and each.is_unread]
    weights, _ = _calibrated([each for each in asked if each.of != of], settings)
    answered = [each for each in mine if each.holds[np.argsort(-each.probabilities)[:2]].any()]
    return {
        "set": of,
        "questions": len(mine),
        "first": fmean(each.is_first_right(each.probabilities) for each in mine),
        "first, fitted without it": fmean(
            each.is_first_right(each.inputs @ weights + SHIPPED.rank * each.ranks) for each in mine
        ),
        "lost": _unknown(answered, settings.minimum),
        "unread said": _unknown(unread, settings.minimum),
    }


def _unknown(asked: Sequence[Question], minimum: float) -> float | None:
    return fmean(each.probabilities.max() < minimum for each in asked) if asked else None


def _best(asked: Sequence[Question], number: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the probabilities of the best of each question, and which of them hold."""
    places = [np.argsort(-each.probabilities)[:number] for each in asked]
    said = np.concatenate([each.probabilities[some] for each, some in zip(asked, places, strict=True)])
    return said, np.concatenate([each.holds[some] for each, some in zip(asked, places, strict=True)])


def _calibrated(asked: Sequence[Question], settings: Settings) -> tuple[NDArray[np.float64], float]:
    """Fit coefficients and intercept: the order on what was read, scale and intercept on all that was asked."""
    read = [each for each in asked if not each.is_unread]
    weights = weighed([each.inputs for each in read], [each.holds for each in read])
    places = [np.argsort(-(each.inputs @ weights))[: settings.passages] for each in asked]
    sums = np.concatenate([(each.inputs @ weights)[some] for each, some in zip(asked, places, strict=True)])
    scale, intercept = scaled(sums, np.concatenate([each.holds[at] for each, at in zip(asked, places, strict=True)]))
    return scale * weights, intercept


def _fitted(asked: Sequence[Question], settings: Settings) -> Row:
    weights, intercept = _calibrated(asked, settings)
    shown: Row = {"set": f"all, fitted; intercept {intercept:.2f}", "questions": len(asked)}
    return shown | {name: float(weight) for name, weight in zip(INPUTS, weights, strict=True)}


def claim(report: Report) -> None:
    """Check the calibration error, and what is said unknown of all sets together."""
    report.claims.clear()
    bins = [row for row in report.summary if "held" in row]
    cases = sum(int(row["questions"] or 0) for row in bins)
    apart = [
        abs(float(row["said"] or 0) - float(row["held"] or 0)) * int(row["questions"] or 0) / cases for row in bins
    ]
    report.claim("calibration error", f"<= {ERROR:g}", sum(apart), sum(apart) <= ERROR)
    for name, bound, at_most in (("lost", LOST, True), ("unread said", SAID, False)):
        shares = [float(row[name] or 0) for row in report.summary if row.get(name) is not None]
        if shares:
            share = fmean(shares)
            holds = share <= bound if at_most else share >= bound
            report.claim(f"{name}, mean of sets", f"{'<=' if at_most else '>='} {bound:g}", share, holds)
