"""`hocket bench unknown`: how often the product says, rightly or wrongly, that no document answers a question.

Every set is a collection of its own, read and searched with the product's defaults; no model writes anything. It is
asked three kinds of questions. The first are answered by a passage that is found; about the second nothing was read;
the third are those that a passage is about and does not answer.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, NamedTuple

from rich.progress import track

from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_daemon.serving.search.evidence import doubt, scores_of
from hocket_lab.bench.questions.corpora import SQUAD, json_lines
from hocket_lab.bench.questions.question_sets import HALVES, Question, beginning, files, of_half, questions
from hocket_lab.bench.running.product import DOCUMENTS, EMBEDDING_PRECISION, EMBEDDING_THREADS
from hocket_lab.data_folder import require
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row
from hocket_lab.reporting.sources import digest_of_files
from hocket_retrieval.config import Precision
from hocket_retrieval.service.replies import passages
from hocket_tools import console

if TYPE_CHECKING:
    from hocket_retrieval.collection import Collection

ANSWERABLE, UNREAD, UNANSWERABLE = "answered by a passage", "not read", "about it, not answered"
CLAPNQ_UNANSWERABLE = "clapnq/clapnq_dev_unanswerable.jsonl"
SETS = ("squad", "nq", "chats", "clapnq", "mtrag")
CLAIMS = ((UNREAD, 0.85, True), (UNANSWERABLE, 0.5, True), (ANSWERABLE, 0.08, False))


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    half: Annotated[str, Option("Which of SQuAD's articles, and of the other corpora.", choices=tuple(HALVES))] = (
        "reported"
    )
    questions: Annotated[int, Option("Of each set and kind.", min=1)] = 200
    minimum: Annotated[float, Option("The evidence that is asked for.", min=-1, max=1)] = (
        AggregationSettings().min_evidence
    )
    passages: int = DOCUMENTS
    threads: int = EMBEDDING_THREADS
    precision: Precision = EMBEDDING_PRECISION
    seed: Annotated[int, Option("Chooses the questions.", min=0)] = 0


class _Asked(NamedTuple):
    """A question with its set and kind, the library to search, and the text to find there, if any."""

    set: str
    kind: str
    text: str
    library: str
    gold: str = ""


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Ask what is not in the report yet; tells whether no claim misses."""
    read = [*files(dict.fromkeys(SETS, 1)), CLAPNQ_UNANSWERABLE]
    require(data, *read)
    report = Report(asdict(settings) | {"inputs": digest_of_files([data / file for file in read])}, json_path)
    libraries, asked = _asked(data, settings)
    missing = list(dict.fromkeys(each.library for each in asked if report.find(set=each.set, kind=each.kind) is None))
    for name in track(missing, "asking", console=console.err(), transient=True):
        for row in _measured(libraries[name], [each for each in asked if each.library == name], settings):
            report.add(row)
    claim(report)
    if json_path is not None:
        report.plot(json_path.with_suffix(".png"), "set", "said", "kind", title="Said to be in no document")
    return report.finish()


def claim(report: Report) -> None:
    """Claim, over all sets together, how often each kind of question is said to be in no document."""
    report.claims.clear()
    for kind, bound, at_least in CLAIMS:
        mine = [row for row in report.rows if row["kind"] == kind]
        asked = sum(int(row["questions"] or 0) for row in mine)
        if asked:
            said = sum(float(row["said"] or 0) * int(row["questions"] or 0) for row in mine) / asked
            shown = f"{said:.3f} of {asked}"
            report.claim(
                f"{kind}: said to be in no document", f"{'>=' if at_least else '<='} {bound:g}", shown,
                said >= bound if at_least else said <= bound,
            )  # fmt: skip


def _measured(texts: Sequence[str], asked: Sequence[_Asked], settings: Settings) -> Iterator[Row]:
    """Yield a row for each set and kind of question that a library is asked."""
    from hocket_retrieval.collection import Collection
    from hocket_retrieval.embedding.embedder import Embedder

    embedder = Embedder(threads=settings.threads, documents_in=settings.precision)
    with tempfile.TemporaryDirectory(prefix="hocket-") as folder, Collection(Path(folder), embedder) as collection:
        collection.add((str(at), "", text) for at, text in enumerate(texts))
        for of, kind in dict.fromkeys((each.set, each.kind) for each in asked):
            some = [each for each in asked if (each.set, each.kind) == (of, kind)]
            said = [found for each in some if (found := _is_unknown(collection, each, texts, settings)) is not None]
            yield {"set": of, "kind": kind, "questions": len(said), "said": fmean(said or [0.0])}


def _is_unknown(collection: Collection, asked: _Asked, texts: Sequence[str], settings: Settings) -> bool | None:
    """Tell whether nothing is found about it; None if its gold text is not found, so that no answer can be right."""
    found = passages(bytes(16), collection.search(asked.text, settings.passages), [], 0.0)
    if asked.gold and not any(texts[int(passage.document)] == asked.gold for passage in found.passages):
        return None
    return bool(doubt(scores_of(found), settings.minimum))


def _asked(data: Path, settings: Settings) -> tuple[dict[str, list[str]], list[_Asked]]:
    """Return the libraries and the questions; unread ones are asked of an encyclopedia about something else."""
    of, others = _questions(data, settings.half, settings), _questions(data, _other(settings.half), settings)
    libraries = {name: _texts(some) for name, some in of.items()} | {"squad, other half": _texts(others["squad"])}
    asked = list[_Asked]()
    for name, some in of.items():
        elsewhere = "squad" if name in ("chats", "clapnq", "mtrag") else "squad, other half"
        asked += [_Asked(name, ANSWERABLE, question.text, name, question.parts[0].gold) for question in some]
        asked += [_Asked(name, UNREAD, question.text, elsewhere) for question in some]
    about = random.Random(settings.seed).sample(_impossible(data, settings.half), settings.questions)
    asked += [_Asked("squad", UNANSWERABLE, text, "squad") for text in about]
    rows = list(of_half(json_lines(data / CLAPNQ_UNANSWERABLE), settings.half))
    libraries["clapnq unanswerable"] = list(dict.fromkeys(beginning(row["passages"][0]["text"]) for row in rows))
    about = [f"{row['input']}?" for row in rows[: settings.questions]]
    return libraries, asked + [_Asked("clapnq", UNANSWERABLE, text, "clapnq unanswerable") for text in about]


def _questions(data: Path, half: str, settings: Settings) -> dict[str, list[Question]]:
    """Return the questions of each set."""
    number = settings.questions
    each = {"squad device": number // 2, "squad cloud": number - number // 2, "two-sided": 0}
    asked = questions(data, half, each | dict.fromkeys(SETS[1:], number), settings.seed)
    return {name: [question for question in asked if question.of.split()[0] == name] for name in SETS}


def _other(half: str) -> str:
    return next(name for name in HALVES if name != half)


def _texts(asked: Sequence[Question]) -> list[str]:
    """Return all texts of the two sides; for the chats, those of the device alone."""
    return [*asked[0].device, *(asked[0].cloud if asked[0].of != "chats" else ())]


def _impossible(data: Path, half: str) -> list[str]:
    """Return the questions that SQuAD marks as unanswerable."""
    articles = json.loads((data / SQUAD).read_text(encoding="utf-8"))["data"][HALVES[half]]
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    return [each["question"] for paragraph in paragraphs for each in paragraph["qas"] if each["is_impossible"]]
