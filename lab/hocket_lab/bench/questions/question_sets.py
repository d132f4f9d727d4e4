"""Real questions whose passages are on two sides: SQuAD's dealt to both, a year of chats on the device, and pairs.

Those of NQ-open, CLAP-NQ and MTRAG are dealt to both sides, too. The last two want whole sentences, and of a
conversation its last turn alone is asked.
"""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from hocket_bus.messages import Side
from hocket_lab.bench.questions.corpora import SQUAD, json_lines
from hocket_lab.data_folder import require

T = TypeVar("T")
CHATS, CHAT_QUESTIONS = "lihua_world/chats.jsonl", "lihua_world/query_set.csv"
FILES = (SQUAD, CHATS, CHAT_QUESTIONS)
DEALT = {
    "nq": "nq_open/nq-open-oracle.jsonl",
    "clapnq": "clapnq/clapnq_dev_answerable.jsonl",
    "mtrag": "mtrag_un/reference.jsonl",
}
SETS = ("squad device", "squad cloud", "two-sided", "chats", *DEALT)
HALVES = {"reported": slice(0, 8), "tuning": slice(8, 16)}  # articles
_WORDS = 300  # of a passage that is a chat or a page


@dataclass(frozen=True)
class Part:
    """The accepted answers of a question, and the passage that holds them."""

    answers: tuple[str, ...]
    gold: str


@dataclass(frozen=True)
class Question:
    """A question of one or two parts, its set `of`, and the passages that each side holds."""

    of: str
    text: str
    parts: tuple[Part, ...]
    device: Sequence[str]
    cloud: Sequence[str]


def questions(data: Path, half: str, each: dict[str, int], seed: int) -> list[Question]:
    """Return as many questions of each of SETS as `each` says. Raises BadRequest if the corpora are missing."""
    require(data, *files(each))
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
    made += [Question("chats", text, (part,), texts, cloud) for text, part in chats[: each["chats"]]]
    for of, read in _READERS.items():
        if number := each.get(of, 0):
            made += _dealt(of, list(read(data / DEALT[of], half)), number, rng)
    return made


def files(each: Mapping[str, int]) -> tuple[str, ...]:
    """Return the files that are read for so many questions of each set."""
    return (*FILES, *(file for of, file in DEALT.items() if each.get(of)))


def _dealt(of: str, asked: list[tuple[str, Part]], number: int, rng: random.Random) -> list[Question]:
    """Return questions whose passages are on either side in turn."""
    passages = list(dict.fromkeys(part.gold for _, part in asked))
    rng.shuffle(asked)
    return [Question(of, text, (part,), passages[::2], passages[1::2]) for text, part in asked[:number]]


def of_half(rows: Iterable[T], half: str) -> Iterator[T]:
    """Return the rows of one of HALVES, which take turns at two rows each."""
    return (row for at, row in enumerate(rows) if (at // 2 % 2 == 0) == (half == "tuning"))


def _nq(path: Path, half: str) -> Iterator[tuple[str, Part]]:
    for row in of_half(json_lines(path), half):
        yield f"{row['question']}?", Part(tuple(row["answers"]), row["ctxs"][0]["text"])


def _clapnq(path: Path, half: str) -> Iterator[tuple[str, Part]]:
    for row in of_half(json_lines(path), half):
        answers = tuple(output["answer"] for output in row["output"])
        yield f"{row['input']}?", Part(answers, beginning(row["passages"][0]["text"]))


def _mtrag(path: Path, half: str) -> Iterator[tuple[str, Part]]:
    """Yield answerable turns with their first passage; no conversation is in both halves."""
    rows = [row for row in json_lines(path) if row["answerability"] == ["ANSWERABLE"] and row["contexts"]]
    mine = set(of_half(sorted({row["conversation_id"] for row in rows}), half))
    for row in rows:
        if row["conversation_id"] in mine:
            answers = tuple(target["text"] for target in row["targets"])
            yield row["input"][-1]["text"], Part(answers, beginning(row["contexts"][0]["text"]))


_READERS: Mapping[str, Callable[[Path, str], Iterator[tuple[str, Part]]]] = {
    "nq": _nq,
    "clapnq": _clapnq,
    "mtrag": _mtrag,
}


def beginning(text: str) -> str:
    """Return as much of a chat, or of a page, as a passage has."""
    return " ".join(text.split()[:_WORDS])


def _joined(first: str, second: str) -> str:
    return f"{first} And {second[0].lower()}{second[1:]}"


def _paragraphs(path: Path, articles: slice) -> Iterator[tuple[str, list[tuple[str, Part]]]]:
    """Yield each paragraph with the questions that it answers."""
    for article in json.loads(path.read_text(encoding="utf-8"))["data"][articles]:
        for paragraph in article["paragraphs"]:
            text = paragraph["context"]
            asked = [qa for qa in paragraph["qas"] if not qa["is_impossible"]]
            yield (
                text,
                [(qa["question"], Part(tuple(answer["text"] for answer in qa["answers"]), text)) for qa in asked],
            )


def _chat_texts(data: Path) -> dict[str, str]:
    """Return the beginning of each chat, by its time."""
    return {re.sub(r"\D", "", row["id"])[:12]: beginning(row["text"]) for row in json_lines(data / CHATS)}


def _chats(data: Path) -> Iterator[tuple[str, Part]]:
    """Yield the questions that one chat answers."""
    texts = _chat_texts(data)
    with (data / CHAT_QUESTIONS).open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            at = re.sub(r"\D", "", row["Evidence"])[:12]
            if row["Type"] == "Single" and at in texts:
                yield row["Question"], Part((row["Gold Answer"],), texts[at])
