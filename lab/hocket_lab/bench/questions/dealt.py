"""Real questions whose passages are dealt to two sides: the one that answers lies on either, on both or on neither."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hocket_lab.bench.parties.two_sides import Asked
from hocket_lab.bench.questions.corpora import SQUAD, json_lines
from hocket_lab.data_folder import require
from hocket_retrieval.embedding.embedder import Embedder

CHATS, CHAT_QUESTIONS = "lihua_world/chats.jsonl", "lihua_world/query_set.csv"
FILES = (SQUAD, CHATS, CHAT_QUESTIONS)
KINDS = ("device", "cloud", "both", "neither", "two parts", "chats")
_ARTICLES = 8
_PASSAGE_WORDS = 150
_PASSAGES = 2


class Scores:
    """A scorer of texts by their cosines, which embeds each text once."""

    def __init__(self) -> None:
        self._embedder = Embedder()
        self._rows: dict[str, NDArray[np.float32]] = {}
        self._queries: dict[str, NDArray[np.float32]] = {}

    def __call__(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return how well each passage matches the query, as a cosine."""
        new = list(dict.fromkeys(text for text in passages if text not in self._rows))
        if new:
            self._rows |= zip(new, self._embedder.documents(new), strict=True)
        if query not in self._queries:
            self._queries[query] = self._embedder.query(query)
        cosines = np.stack([self._rows[text] for text in passages]) @ self._queries[query]
        return [float(cosine) for cosine in np.clip(cosines, -1, 1)]

    def nearest(self, query: str, passages: Sequence[str], number: int = _PASSAGES) -> list[str]:
        """Return the best of `passages`, best first."""
        order = np.argsort([-score for score in self(query, passages)], kind="stable")
        return [passages[at] for at in order[:number]]


def dealt(data: Path, number: int, seed: int, scores: Scores) -> list[Asked]:
    """Return `number` questions, of each kind as many. Raises BadRequest if the corpora are missing."""
    require(data, *FILES)
    rng = random.Random(seed)
    passages, questions = _squad(data / SQUAD)
    rng.shuffle(questions)
    left = iter(questions)
    chats, chat_questions = _chats(data)
    rng.shuffle(chat_questions)
    made: list[Asked] = []
    for at in range(number):
        kind = KINDS[at % len(KINDS)]
        if kind == "chats":
            question = chat_questions[at % len(chat_questions)]
            made.append(Asked(kind, question, _best(question, chats, scores), _best(question, passages, scores)))
        elif kind == "two parts":
            (first, there), (second, here) = next(left), next(left)
            question = f"{first} And {second[0].lower()}{second[1:]}"
            device, cloud = _halves(passages, {here}, {there})
            made.append(
                Asked(kind, question, _best(question, device, scores, here), _best(question, cloud, scores, there))
            )
        else:
            question, gold = next(left)
            on: list[set[str]] = [{gold} if kind in (side, "both") else set() for side in ("device", "cloud")]
            device, cloud = _halves([text for text in passages if kind != "neither" or text != gold], *on)
            made.append(Asked(kind, question, _best(question, device, scores), _best(question, cloud, scores)))
    return made


def _halves(passages: Sequence[str], here: set[str], there: set[str]) -> tuple[list[str], list[str]]:
    """Return the device's and the cloud's passages: dealt in turn, but for those to be on one side, or on both."""
    device = [text for at, text in enumerate(passages) if text in here or (at % 2 == 0 and text not in there)]
    cloud = [text for at, text in enumerate(passages) if text in there or (at % 2 == 1 and text not in here)]
    return device, cloud


def _best(question: str, passages: Sequence[str], scores: Scores, first: str = "") -> tuple[str, ...]:
    """Return the passages that a side reads: `first` where there is one, and the nearest."""
    known = [first] if first else []
    return tuple(dict.fromkeys([*known, *scores.nearest(question, passages)]))[:_PASSAGES]


def _squad(path: Path) -> tuple[list[str], list[tuple[str, str]]]:
    """Return passages, and questions with the passage that answers each."""
    articles = json.loads(path.read_text(encoding="utf-8"))["data"][:_ARTICLES]
    passages, questions = [], []
    for paragraph in (paragraph for article in articles for paragraph in article["paragraphs"]):
        text = _first_words(paragraph["context"])
        passages.append(text)
        for qa in paragraph["qas"]:
            if not qa["is_impossible"] and qa["answers"][0]["text"] in text:
                questions.append((qa["question"], text))
    return passages, questions


def _chats(data: Path) -> tuple[list[str], list[str]]:
    """Return the beginnings of a year's chats, and questions about them."""
    with (data / CHAT_QUESTIONS).open(encoding="utf-8", newline="") as lines:
        questions = [row["Question"] for row in csv.DictReader(lines) if row["Type"] == "Single"]
    return list(dict.fromkeys(_first_words(row["text"]) for row in json_lines(data / CHATS))), questions


def _first_words(text: str) -> str:
    return " ".join(text.split()[:_PASSAGE_WORDS])
