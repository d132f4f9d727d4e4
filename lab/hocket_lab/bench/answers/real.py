"""`hocket bench real`: real questions and documents: a year of chats on the device, an encyclopedia in the cloud.

Streams must finish; whether retrieval finds the evidence is measured; the bundled models' words are not judged.
"""

from __future__ import annotations

import csv
import os
import random
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from rich.progress import track

from hocket_bus.messages import Passages, Search
from hocket_lab.bench.questions.corpora import json_lines
from hocket_lab.bench.running.product import DOCUMENTS
from hocket_lab.bench.running.running import BenchPair, bench_pair
from hocket_lab.data_folder import require
from hocket_lab.reporting.option import Option
from hocket_lab.reporting.report import Report
from hocket_lab.reporting.sources import digest_of_files
from hocket_tools import console
from hocket_tools.caller import Caller
from hocket_tools.train.wikitext import wikitext

QUESTIONS, CHATS = "lihua_world/query_set.csv", "lihua_world/chats.jsonl"
ARTICLES = "wikitext2/wiki.train.tokens"


@dataclass(frozen=True)
class Settings:
    """Settings of the benchmark."""

    questions: Annotated[int, Option("Questions to ask.", min=1)] = 20
    searches: Annotated[int, Option("Questions to search for.", min=1)] = 300
    articles: Annotated[int, Option("Articles that the cloud reads.", min=1)] = 600
    documents: Annotated[int, Option("Passages a side.", min=1)] = DOCUMENTS
    max_tokens: Annotated[int, Option("Longest answer.", min=1)] = 64
    seed: Annotated[int, Option("Chooses the questions.", min=0)] = 0


@dataclass(frozen=True)
class Question:
    """A question about the chats and the chats that answer it."""

    text: str
    evidence: tuple[str, ...]


def run(data: Path, settings: Settings, json_path: Path | None) -> bool:
    """Ingest, search and ask; tells whether no claim misses."""
    read = {"inputs": digest_of_files([data / file for file in (QUESTIONS, CHATS, ARTICLES)])}
    report = Report(asdict(settings) | read, json_path)
    require(data, QUESTIONS, CHATS, ARTICLES)
    asked = _questions(data / QUESTIONS)
    random.Random(settings.seed).shuffle(asked)
    if len(report.rows) < settings.questions + 1:
        report.rows.clear()
        with bench_pair() as pair:
            pair.ingest("device", _chats(data))
            pair.ingest("cloud", _articles(data, settings.articles))
            report.add(
                {
                    "question": f"evidence found, {settings.searches} searches",
                    **_hit_rate(pair, asked[: settings.searches], settings.documents),
                }
            )
            _ask(report, pair, asked[: settings.questions], settings)
    claim(report, settings.questions)
    return report.finish(["question", "finish", "tokens", "ttft_ms", "ms_per_token", "evidence_found", "text"])


def claim(report: Report, questions: int) -> None:
    """Claim that `questions` streams finish, even if fewer questions were there to be asked."""
    finished = sum(row.get("finish") in ("eos", "length", "stop") for row in report.rows)
    report.claims.clear()
    report.claim("streams that finish", f"{questions} of {questions}", finished, finished == questions)


def _ask(report: Report, pair: BenchPair, asked: Sequence[Question], settings: Settings) -> None:
    with pair.client("device") as client, Caller(pair.home.endpoint("device-retrieval")) as caller:
        for question in track(asked, "asking", console=console.err(), transient=True):
            stream = client.ask(
                question.text, seed=settings.seed, documents=settings.documents, max_tokens=settings.max_tokens,
                require_cloud=True,
            )  # fmt: skip
            done = stream.result()
            report.add(
                {
                    "question": question.text,
                    "finish": done.finish,
                    "tokens": len(done.token_ids),
                    "ttft_ms": done.ttft_s * 1000,
                    "ms_per_token": done.ms_per_token,
                    "evidence_found": _found(caller, question, settings.documents),
                    "text": done.text.strip()[:80],
                }
            )


def _hit_rate(pair: BenchPair, asked: Sequence[Question], k: int) -> dict[str, float]:
    with Caller(pair.home.endpoint("device-retrieval")) as caller:
        hits = [_found(caller, question, k) for question in asked]
    return {"evidence_found": sum(hits) / len(hits)}


def _found(caller: Caller, question: Question, k: int) -> bool:
    """Tell whether one of the best `k` passages comes from a chat that holds the evidence."""
    passages = caller.ask(Search(request=os.urandom(16), query=question.text, k=k), Passages).passages
    return any(chat in passage.document for passage in passages for chat in question.evidence)


def _questions(path: Path) -> list[Question]:
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["Type"] == "Single"]
    return [
        Question(row["Question"], tuple(re.findall(r"\d{8}_\d{4}", row["Evidence"].replace(":", "")))) for row in rows
    ]


def _chats(data: Path) -> dict[str, str]:
    rows = json_lines(data / CHATS)
    return {row["id"].replace("/", "-").removesuffix(".txt") + ".txt": row["text"] for row in rows}


def _articles(data: Path, number: int) -> dict[str, str]:
    found = list(wikitext(data / ARTICLES))[:number]
    return {f"article-{at:04}.txt": f"{article.title}\n\n{article.text}" for at, article in enumerate(found)}
