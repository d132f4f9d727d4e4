"""Real questions whose passages lie on two sides: SQuAD's dealt to both, a year of chats on the device, and pairs."""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hocket_bus.messages import Side
from hocket_lab.bench.corpora import SQUAD, json_lines
from hocket_lab.data_folder import require

CHATS, CHAT_QUESTIONS = "lihua_world/chats.jsonl", "lihua_world/query_set.csv"
FILES = (SQUAD, CHATS, CHAT_QUESTIONS)
SETS = ("squad device", "squad cloud", "two-sided", "chats")
HALVES = {"reported": slice(0, 8), "tuning": slice(8, 16)}  # articles
_CHAT_WORDS = 300


@dataclass(frozen=True)
class Part:
    """One question's accepted answers, and the passage that holds them."""

    answers: tuple[str, ...]
    gold: str


@dataclass(frozen=True)
class Question:
    """A question of one or two parts, which `of` what each side holds."""

    of: str
    text: str
    parts: tuple[Part, ...]
    device: Sequence[str]
    cloud: Sequence[str]


def questions(data: Path, half: str, each: dict[str, int], seed: int) -> list[Question]:
    """So many of each of SETS. Raises BadRequest where the corpora are not."""
    require(data, *FILES)
    rng = random.Random(seed)
    dealt: dict[Side, list[str]] = {"device": [], "cloud": []}
    single: dict[Side, list[tuple[str, Part]]] = {"device": [], "cloud": []}
    for number, (text, asked) in enumerate(_paragraphs(data / SQUAD, HALVES[half])):
        side: Side = "cloud" if number % 2 else "device"
        dealt[side].append(text)
        single[side] += asked
    for some in single.values():
        rng.shuffle(some)
    left = {side: iter(some) for side, some in single.items()}
    device, cloud = dealt["device"], dealt["cloud"]
    made = [
        Question(f"squad {side}", text, (part,), device, cloud)
        for side in left
        for (text, part), _ in zip(left[side], range(each[f"squad {side}"]), strict=False)
    ]
    pairs = zip(left["device"], left["cloud"], range(each["two-sided"]), strict=False)
    made += [Question("two-sided", _joined(one, other), (a, b), device, cloud) for (one, a), (other, b), _ in pairs]
    chats = list(_chats(data))
    rng.shuffle(chats)
    texts = list(_chat_texts(data).values())
    return made + [Question("chats", text, (part,), texts, cloud) for text, part in chats[: each["chats"]]]


def _joined(first: str, second: str) -> str:
    return f"{first} And {second[0].lower()}{second[1:]}"


def _paragraphs(path: Path, articles: slice) -> Iterator[tuple[str, list[tuple[str, Part]]]]:
    """Each paragraph with the questions that it answers."""
    for article in json.loads(path.read_text(encoding="utf-8"))["data"][articles]:
        for paragraph in article["paragraphs"]:
            text = paragraph["context"]
            asked = [qa for qa in paragraph["qas"] if not qa["is_impossible"]]
            yield (
                text,
                [(qa["question"], Part(tuple(answer["text"] for answer in qa["answers"]), text)) for qa in asked],
            )


def _chat_texts(data: Path) -> dict[str, str]:
    """The beginning of each chat, by when it was."""
    return {
        re.sub(r"\D", "", row["id"])[:12]: " ".join(row["text"].split()[:_CHAT_WORDS])
        for row in json_lines(data / CHATS)
    }


def _chats(data: Path) -> Iterator[tuple[str, Part]]:
    """Questions that one chat answers."""
    texts = _chat_texts(data)
    with (data / CHAT_QUESTIONS).open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            at = re.sub(r"\D", "", row["Evidence"])[:12]
            if row["Type"] == "Single" and at in texts:
                yield row["Question"], Part((row["Gold Answer"],), texts[at])
