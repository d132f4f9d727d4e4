"""Four devices with documents of their own, and questions whose evidence lies on other devices than the asked one.

MTRAG has four domains, one a device. SQuAD's paragraphs are dealt to four devices in turn, and questions about one, two
or three of them are joined: then so many other devices have a part of what is asked.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hocket_lab.bench.questions.corpora import json_lines
from hocket_lab.bench.questions.question_sets import DEALT, FILES, Part, Question, of_half, questions
from hocket_lab.data_folder import require
from hocket_tools.train.wikitext import Document

MTRAG = "mtrag"
PARTS = {"one part": 1, "two parts": 2, "three parts": 3}  # SQuAD's questions that are joined
SETS = (*PARTS, MTRAG)
SQUAD_DEVICES = ("device-1", "device-2", "device-3", "device-4")
_ALL = 1_000_000


@dataclass(frozen=True)
class Asked:
    """A question `of` a set, asked at the first of `devices`; each of its parts lies on another one of them."""

    of: str
    text: str
    parts: tuple[Part, ...]
    devices: tuple[str, ...]


@dataclass(frozen=True)
class World:
    """Documents by device, and questions."""

    documents: Mapping[str, Sequence[Document]]
    asked: Sequence[Asked]


def files() -> tuple[str, ...]:
    """Return the files of the corpora that are read."""
    return (*FILES, DEALT[MTRAG])


def worlds(data: Path, half: str, number: int, seed: int) -> list[World]:
    """Return worlds of up to `number` questions of each of SETS. Raises BadRequest if the corpora are missing."""
    require(data, *files())
    return [squad(data, half, number, seed, SQUAD_DEVICES), _mtrag(data, half, number, random.Random(seed))]


def squad(data: Path, half: str, number: int, seed: int, devices: Sequence[str]) -> World:
    """Deal paragraphs to `devices`, more than three, with `number` questions of each of PARTS. Raises BadRequest."""
    require(data, *FILES)
    rng = random.Random(seed)
    single = questions(data, half, {"squad device": _ALL, "squad cloud": _ALL, "two-sided": 0, "chats": 0}, 0)
    passages = [*single[0].device, *single[0].cloud]
    documents = {
        device: [Document(f"{device}/{at:04}.txt", "", text) for at, text in enumerate(passages[turn :: len(devices)])]
        for turn, device in enumerate(devices)
    }
    rng.shuffle(single)
    holder = {document.text: device for device, own in documents.items() for document in own}
    left = {device: iter([one for one in single if holder[one.parts[0].gold] == device]) for device in devices}
    asked = [one for of, parts in PARTS.items() for one in _joined_of(of, parts, number, left, rng)]
    return World(documents, asked)


def _joined_of(
    of: str, parts: int, number: int, left: Mapping[str, Iterator[Question]], rng: random.Random
) -> Iterator[Asked]:
    """Yield joined questions, each part used once, until one is missing or there are `number` of them."""
    for _ in range(number):
        home, *others = rng.sample(list(left), len(left))
        found = [next(left[device], None) for device in others[:parts]]
        ours = [one for one in found if one is not None]
        if len(ours) < parts:
            return
        texts = [one.text for one in ours]
        text = " And ".join([texts[0], *(f"{each[0].lower()}{each[1:]}" for each in texts[1:])])
        yield Asked(of, text, tuple(one.parts[0] for one in ours), (home, *others))


def _mtrag(data: Path, half: str, number: int, rng: random.Random) -> World:
    """Return a world of a device for each domain; the last turn is asked, after the first one where there is one."""
    documents: dict[str, dict[str, Document]] = {}
    answerable = []
    for row in json_lines(data / DEALT[MTRAG]):
        own = documents.setdefault(row["Collection"], {})
        for context in row["contexts"]:
            name = context["document_id"]
            own[name] = Document(name, context.get("title") or "", context["text"].strip())
        if row["answerability"] == ["ANSWERABLE"] and row["contexts"]:
            answerable.append(row)
    mine = set(of_half(sorted({row["conversation_id"] for row in answerable}), half))
    rows = [row for row in answerable if row["conversation_id"] in mine]
    rng.shuffle(rows)
    asked = []
    for row in rows[:number]:
        turns = [turn["text"].strip() for turn in row["input"] if turn["speaker"] == "user"]
        others = [device for device in sorted(documents) if device != row["Collection"]]
        rng.shuffle(others)
        home, *rest = others
        part = Part(tuple(target["text"] for target in row["targets"]), row["contexts"][0]["text"])
        text = turns[-1] if len(turns) == 1 else f"{turns[0]} {turns[-1]}"
        asked.append(Asked(MTRAG, text, (part,), (home, row["Collection"], *rest)))
    return World({device: list(own.values()) for device, own in documents.items()}, asked)
