"""The settings of the benchmark, and its parts one after another."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from hocket_daemon.engine.settings import BUNDLED
from hocket_lab.bench.graph import answers, gate, latency, living, matching, privacy
from hocket_lab.bench.graph.collections import open_collections, together
from hocket_lab.bench.graph.sets import FILES, Question, Sets, load
from hocket_lab.bench.questions.question_sets import FILES as SQUAD_AND_CHATS
from hocket_lab.bench.questions.question_sets import HALVES
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report
from hocket_lab.reporting.sources import digest_of_files
from hocket_retrieval.collection import Collection
from hocket_retrieval.graph.summary_index import SummaryIndex
from hocket_tools.embedding import RememberingEmbedder

PARTS = ("matching", "gate", "answers", "living", "privacy", "latency")


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark; results of runs with other settings are never mixed in."""

    part: Annotated[str, Option("What to measure.", choices=PARTS)] = "matching"
    splits: Annotated[int, Option("Halves of the questions, part gate.", min=1)] = 200
    chats: Annotated[int, Option("Questions about the chats, part gate.", min=0)] = 150
    canaries: Annotated[int, Option("Private sentences, part privacy.", min=1)] = 200
    questions: Annotated[int, Option("Questions of each kind, parts answers and latency.", min=1)] = 20
    model: Annotated[str, Option("All sides' model, part answers: a published name, a folder or a .gguf file.")] = (
        BUNDLED
    )
    half: Annotated[str, Option("Which of SQuAD's articles, part answers.", choices=tuple(HALVES))] = "reported"
    seed: Annotated[int, Option("Draws questions, halves and sentences.", min=0)] = 0


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Measure what is not in the report yet; tells whether no claim misses."""
    of_rows = {name: getattr(settings, name) for name in ("part", *_USED[settings.part])}
    files = SQUAD_AND_CHATS if settings.part == "answers" else FILES
    report = Report(of_rows | {"inputs": digest_of_files([data / file for file in files])}, json_path)
    if settings.part == "latency":
        latency.measure(report, settings.questions)
        latency.claim(report)
        return report.finish(latency.COLUMNS)
    if settings.part == "answers":
        answers.measure(report, data, settings.model, settings.questions, settings.half)
        report.summary = answers.summary(report)
        return report.finish(answers.COLUMNS)
    sets = load(data)
    if settings.part == "living":
        living.measure(report, sets, settings.seed)
        living.claim(report)
        return report.finish(living.COLUMNS)
    if settings.part == "privacy":
        privacy.measure(report, sets, RememberingEmbedder(), settings.canaries, settings.seed)
        privacy.claim(report)
        return report.finish(privacy.COLUMNS)
    beside = json_path.with_suffix(".documents") if json_path is not None else None
    with open_collections(sets, beside) as collections:
        if settings.part == "gate":
            return _gate(report, sets, collections, settings)
        return _matching(report, sets, collections, beside)


_USED = {
    "matching": (),
    "gate": ("splits", "chats", "seed"),
    "answers": ("questions", "model", "half"),
    "living": ("seed",),
    "privacy": ("canaries", "seed"),
    "latency": ("questions",),
}


def _gate(report: Report, sets: Sets, collections: dict[str, Collection], settings: Settings) -> bool:
    asked = gate.ask_all(sets, collections, _drawn(sets.questions, settings.chats, settings.seed))
    chosen = gate.measure(report, asked, settings.splits)
    report.summary = [*gate.summary(report), *gate.separations(asked, chosen), gate.chosen_of(chosen)]
    gate.claim(report)
    return report.finish((*gate.COLUMNS, "metric", "against", "auroc"))


def _drawn(questions: Sequence[Question], chats: int, seed: int) -> list[Question]:
    """Return all questions of two sets, and `chats` questions of the third, which would outweigh them."""
    own = [question for question in questions if question.of == "chats"]
    others = [question for question in questions if question.of != "chats"]
    return others + random.Random(seed).sample(own, min(chats, len(own)))


def _matching(report: Report, sets: Sets, collections: dict[str, Collection], beside: Path | None) -> bool:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hocket-graph-")))
        embedder = next(iter(collections.values())).embedder
        index = SummaryIndex(folder / "summaries.sqlite", embedder)
        stack.callback(index.close)
        matching.share(collections, index)
        places = {of: stack.enter_context(together(sets, of, beside or folder, embedder)) for of in matching.SETS}
        world = matching.World(collections, index, places)
        matching.measure(report, sets, world)
        matching.cost(report, sets, world)
    matching.claim(report)
    matching.claim_cost(report)
    return report.finish((*matching.COLUMNS, "index_bytes", "kept_bytes", "saved"))
