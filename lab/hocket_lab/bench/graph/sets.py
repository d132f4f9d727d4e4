"""Devices with documents of their own, and questions for which the evidence and the device that has it are known.

Three sets: four domains of MTRAG, five corpora of the chunking evaluation, and a year of one person's chats.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hocket_lab.bench.questions.corpora import json_lines
from hocket_lab.data_folder import require
from hocket_tools.train.wikitext import Document

FILES = (
    *("mtrag_un/reference.jsonl", "chunking_eval/questions_df.csv", "lihua_world/chats.jsonl"),
    "lihua_world/query_set.csv",
)
CORPORA = ("chatlogs", "finance", "pubmed", "state_of_the_union", "wikitexts")
ANSWERED = ("ANSWERABLE", "PARTIAL")
COVERED = 0.5  # of a gold span that a passage must hold


@dataclass(frozen=True, slots=True)
class Gold:
    """Evidence for an answer: documents by name, or spans of the text of one, by character."""

    documents: frozenset[str] = frozenset()
    text: str = ""
    spans: tuple[tuple[int, int], ...] = ()

    def holds(self, document: str, passage: str) -> bool:
        """Tell whether a passage is evidence."""
        if not self.spans:
            return document in self.documents
        start = self.text.find(passage)
        return start >= 0 and any(_shared(span, (start, start + len(passage))) for span in self.spans)

    def recall(self, passages: Sequence[str]) -> float:
        """Return the share of its spans' characters that the passages contain."""
        places = [(start, start + len(each)) for each in passages if (start := self.text.find(each)) >= 0]
        covered = {
            at for start, end in places for span in self.spans for at in range(max(start, span[0]), min(end, span[1]))
        }
        return len(covered) / len({at for start, end in self.spans for at in range(start, end)})

    def words(self) -> frozenset[str]:
        """Return the words of its spans, if there are any."""
        return frozenset(word for start, end in self.spans for word in self.text[start:end].lower().split())


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the set `of`, whose evidence is on `device`.

    `last` is its last turn alone, and `before` the user's turns before that.
    """

    text: str
    last: str
    of: str
    device: str
    gold: Gold
    before: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sets:
    """Documents by device, and all questions."""

    documents: dict[str, list[Document]]
    questions: list[Question]

    def devices(self, of: str) -> list[str]:
        """Return the devices of a set."""
        return sorted({question.device for question in self.questions if question.of == of})


def load(data: Path) -> Sets:
    """Load all sets. Raises BadRequest if the corpora are missing."""
    require(data, *FILES)
    documents: dict[str, list[Document]] = {}
    questions: list[Question] = []
    for part in (_mtrag(data / "mtrag_un"), _chunking(data / "chunking_eval"), _chats(data / "lihua_world")):
        documents |= part.documents
        questions += part.questions
    return Sets(documents, questions)


def _mtrag(folder: Path) -> Sets:
    found: dict[str, dict[str, Document]] = {}
    questions = []
    for row in json_lines(folder / "reference.jsonl"):
        device = f"mtrag-{row['Collection']}"
        for context in row["contexts"]:
            name = context["document_id"]
            found.setdefault(device, {})[name] = Document(name, context.get("title") or "", context["text"].strip())
        if _kind(row) in ANSWERED and row["contexts"]:
            questions.append(_of_turns(row, device))
    return Sets({device: list(each.values()) for device, each in found.items()}, questions)


def _kind(row: dict[str, Any]) -> str:
    value = row.get("answerability", row.get("Answerability", ""))
    return str(value[0] if isinstance(value, list) and value else value).upper()


def _of_turns(row: dict[str, Any], device: str) -> Question:
    """Return a question that joins the first and the last turn of the user."""
    turns = [turn["text"].strip() for turn in row["input"] if turn["speaker"] == "user"]
    text = turns[-1] if len(turns) == 1 else f"{turns[0]} {turns[-1]}"
    gold = Gold(frozenset(context["document_id"] for context in row["contexts"]))
    return Question(text, turns[-1], "mtrag", device, gold, tuple(turns[:-1]))


def _chunking(folder: Path) -> Sets:
    texts = {name: _exact(folder / "corpora" / f"{name}.md") for name in CORPORA}
    questions = []
    with (folder / "questions_df.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            spans = tuple((each["start_index"], each["end_index"]) for each in json.loads(row["references"]))
            name = row["corpus_id"]
            gold = Gold(text=texts[name], spans=spans)
            questions.append(Question(row["question"], row["question"], "chunking", f"chunking-{name}", gold))
    documents = {f"chunking-{name}": [Document(name, "", text)] for name, text in texts.items()}
    return Sets(documents, questions)


def _exact(path: Path) -> str:
    with path.open(encoding="utf-8", newline="") as file:  # spans count every character
        return file.read()


def _chats(folder: Path) -> Sets:
    documents = [Document(row["id"], row["id"], row["text"]) for row in json_lines(folder / "chats.jsonl")]
    names = {document.name for document in documents}
    questions = []
    with (folder / "query_set.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            gold = frozenset(_chats_of(row["Evidence"], names)) if row["Type"] != "Null" else frozenset[str]()
            if gold:
                questions.append(Question(row["Question"], row["Question"], "chats", "chats", Gold(gold)))
    return Sets({"chats": documents}, questions)


def _chats_of(evidence: str, names: set[str]) -> list[str]:
    wanted = [part.strip().replace(":", "") for part in evidence.split("<and>")]
    return [name for name in names if any(part and part in name for part in wanted)]


def _shared(span: tuple[int, int], passage: tuple[int, int]) -> bool:
    overlap = min(span[1], passage[1]) - max(span[0], passage[0])
    return overlap >= COVERED * (span[1] - span[0]) or (overlap > 0 and overlap == passage[1] - passage[0])
