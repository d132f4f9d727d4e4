"""How often an answer is said to be probably not in the documents: rightly, where its passage was not read, or not.

The daemons' own bound on the nearest passage's score, and the scores of their embedder; no model writes anything here.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path

from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_lab.bench.corpora import SQUAD
from hocket_lab.bench.dealt import Scores
from hocket_lab.bench.question_sets import HALVES, Question
from hocket_lab.bench.report import Report

GROUNDED, LOST = 0.7, 0.1


def claim(report: Report, data: Path, half: str, asked: Sequence[Question], right: Collection[object]) -> None:
    """Of SQuAD's questions among `asked`: with their passages read, and with those of the other half's articles alone.

    `right` are the numbers of questions that the pair has answered right. Questions that SQuAD calls unanswerable are
    reported beside passages that are about them.
    """
    squad = [(at, question) for at, question in enumerate(asked) if question.of.startswith("squad")]
    if not squad:
        return
    scores, minimum = Scores(), AggregationSettings().min_evidence

    def grounded(texts: Sequence[str], passages: Sequence[str]) -> float:
        return sum(max(scores(text, passages)) < minimum for text in texts) / max(1, len(texts))

    read = [*squad[0][1].device, *squad[0][1].cloud]
    other = _passages(data, next(name for name in HALVES if name != half))
    missing = grounded([question.text for _, question in squad], other)
    lost = grounded([question.text for at, question in squad if at in right], read)
    unanswerable = grounded(_unanswerable(data, half)[: len(squad)], read)
    report.claim(
        "passage not read: said to be probably not in the documents", f">= {GROUNDED}", missing, missing >= GROUNDED
    )
    if right:
        report.claim("right answers that are said so of", f"<= {LOST}", lost, lost <= LOST)
    report.claim("unanswerable beside passages about it: said so", "reported", f"{unanswerable:.2f}", None)


def _articles(data: Path, half: str) -> list[dict[str, list[dict[str, object]]]]:
    return json.loads((data / SQUAD).read_text(encoding="utf-8"))["data"][HALVES[half]]  # type: ignore[no-any-return]


def _passages(data: Path, half: str) -> list[str]:
    return [str(paragraph["context"]) for article in _articles(data, half) for paragraph in article["paragraphs"]]


def _unanswerable(data: Path, half: str) -> list[str]:
    found = []
    for article in _articles(data, half):
        for paragraph in article["paragraphs"]:
            asked = paragraph["qas"]
            assert isinstance(asked, list)
            found += [str(each["question"]) for each in asked if each["is_impossible"]]
    return found[:: max(1, len(found) // 300)]
