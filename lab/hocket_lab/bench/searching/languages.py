"""`hocket bench languages`: notes in one language, questions in another; are they found, and answered?

Of 24 made-up notes there is the same in English, German and French, with a question in each. The notes of one language
stand among those of `hocket bench newcomer`, which are English. Searches are the product's, in one collection. Answers
are those of a pair: the first half of the notes on the device, the second in the cloud.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

from rich.progress import track

from hocket_client import Client
from hocket_daemon.engine.settings import AUTO
from hocket_lab.bench.answers.invented import holds
from hocket_lab.bench.running.product import EMBEDDER, EMBEDDING_PRECISION, EMBEDDING_THREADS
from hocket_lab.bench.running.running import SIDES, bench_pair
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report, Row
from hocket_lab.reporting.sources import digest
from hocket_retrieval.config import Precision
from hocket_tools import console

LANGUAGES = ("english", "german", "french")
ALL = tuple(":".join(both) for both in product(LANGUAGES, LANGUAGES))
FOUND, ANSWERED = "found", "answered"
COLUMNS = ("part", "embedder", "notes", "asked in", "questions", "first", "among five", "right", "do not know")
OTHER = "multilingual-e5-small"
Notes = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    embedders: Annotated[Sequence[str], Option("Names, or folders of sentence-transformers.")] = (EMBEDDER, OTHER)
    model: Annotated[str, Option("Both sides' model: a published name, a folder or a .gguf file.")] = AUTO
    answers: Annotated[
        Sequence[str], Option("Of which languages questions are answered, as notes:question.", choices=ALL)
    ] = ("english:english", "german:german", "german:english")
    questions: Annotated[int, Option("Only the first so many, in a trial; 0: all.", min=0)] = 0
    max_tokens: Annotated[int, Option("Longest answer.", min=1)] = 48
    threads: int = EMBEDDING_THREADS
    precision: Precision = EMBEDDING_PRECISION


def run(settings: Settings, json_path: Path | None) -> bool:
    """Search and ask what is not in the report yet; tells whether no claim misses."""
    texts = [_read("searching/languages.json"), _read("answers/newcomer.json")]
    report = Report(asdict(settings) | {"inputs": {"notes": digest(texts)}}, json_path)
    notes, others = json.loads(texts[0])[: settings.questions or None], json.loads(texts[1])
    for embedder in settings.embedders:
        if report.find(part=FOUND, embedder=embedder) is None:
            report.extend(_found(notes, others, embedder, settings))
        for both in settings.answers:
            language, asked = both.split(":")
            case: Row = {"embedder": embedder, "notes": language, "asked in": asked}
            if report.find(part=ANSWERED, **case) is None:
                report.add(_answered(notes, others, case, settings))
    _claim(report)
    return report.finish(COLUMNS)


def _read(name: str) -> str:
    return (resources.files("hocket_lab") / "bench" / name).read_text(encoding="utf-8")


def _documents(notes: Notes, language: str) -> dict[str, str]:
    return {f"note-{number}.md": note["texts"][language] for number, note in enumerate(notes)}


def _found(notes: Notes, others: Mapping[str, Any], name: str, settings: Settings) -> Iterator[Row]:
    from hocket_retrieval.collection import Collection
    from hocket_retrieval.embedding.embedder import Embedder

    embedder = Embedder(name, settings.threads, settings.precision)
    beside = [(each["name"], "", each["text"]) for side in SIDES for each in others[side]]
    for language in track(LANGUAGES, f"{name}: searching", console=console.err(), transient=True):
        with tempfile.TemporaryDirectory(prefix="hocket-") as folder, Collection(Path(folder), embedder) as collection:
            own = _documents(notes, language)
            collection.add([*((each, "", text) for each, text in own.items()), *beside])
            for asked in LANGUAGES:
                searches = [collection.search(note["questions"][asked], 5).passages for note in notes]
                ranked = [[passage.document for passage in found] for found in searches]
                yield {
                    "part": FOUND,
                    "embedder": name,
                    "notes": language,
                    "asked in": asked,
                    "questions": len(notes),
                    "first": fmean(found[:1] == [right] for found, right in zip(ranked, own, strict=True)),
                    "among five": fmean(right in found for found, right in zip(ranked, own, strict=True)),
                }


def _answered(notes: Notes, others: Mapping[str, Any], case: Row, settings: Settings) -> Row:
    embedder, language, asked = (str(case[name]) for name in ("embedder", "notes", "asked in"))
    half = (len(notes) + 1) // 2
    written = list(_documents(notes, language).items())
    own = {"device": dict(written[:half]), "cloud": dict(written[half:])}
    with bench_pair(model={"name": settings.model}, embedder=embedder) as pair, pair.client("device") as client:
        for side in SIDES:
            pair.ingest(side, own[side] | {each["name"]: each["text"] for each in others[side]})
        shown = f"{embedder}: {language} notes, questions in {asked}"
        answers = [
            _ask(client, note["questions"][asked], settings)
            for note in track(notes, shown, console=console.err(), transient=True)
        ]
    right = [holds(text, note["answers"]) for (text, _), note in zip(answers, notes, strict=True)]
    return case | {
        "part": ANSWERED,
        "questions": len(notes),
        "right": fmean(right),
        "do not know": fmean(unknown for _, unknown in answers),
        "texts": json.dumps([text for text, _ in answers], ensure_ascii=False),
    }


def _ask(client: Client, question: str, settings: Settings) -> tuple[str, bool]:
    """Return the answer, and whether it says that nothing is known."""
    done = client.ask(question, seed=0, temperature=0.0, max_tokens=settings.max_tokens).result()
    return done.text.strip(), done.finish == "unknown"


def _claim(report: Report) -> None:
    """Check that an embedder of many languages finds notes across languages, and answers in German as in English."""
    report.claims.clear()
    for embedder in dict.fromkeys(str(row["embedder"]) for row in report.rows if row["embedder"] != EMBEDDER):
        across = [row for row in report.rows if row["part"] == FOUND and row["notes"] != row["asked in"]]
        five = fmean(float(row["among five"] or 0.0) for row in across if row["embedder"] == embedder)
        report.claim(f"{embedder}: found among five across languages", "at least 0.9", five, five >= 0.9)
        right = [_right(report, embedder, language) for language in ("german", "english")]
        if None not in right:
            german, english = (float(each or 0.0) for each in right)
            shown = f"{german:.2f}, English {english:.2f}"
            report.claim(f"{embedder}: German answers right", "as often as English", shown, german >= english)


def _right(report: Report, embedder: str, language: str) -> float | None:
    row = report.find(part=ANSWERED, embedder=embedder, notes=language, **{"asked in": language})
    return None if row is None else float(row["right"] or 0.0)
