"""Real questions to real passages (SQuAD 2.0, XQuAD, NQ-open) with short answers, cut to retrieval chunks."""

import json
import re
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

from decontaminate import is_clean
from passages import WORDS, Asked, Reading


def _chunk(context: str, start: int) -> str:
    """Whole sentences around position `start`, at most a chunk of words."""
    borders = [0, *(m.end() for m in re.finditer(r"(?<=[.?!])\s+", context)), len(context)]
    spans = list(pairwise(borders))
    at = next((i for i, (a, b) in enumerate(spans) if a <= start < b), len(spans) - 1)
    low = high = at
    while high + 1 < len(spans) and len(context[spans[low][0] : spans[high + 1][1]].split()) <= WORDS - 8:
        high += 1
    while low > 0 and len(context[spans[low - 1][0] : spans[high][1]].split()) <= WORDS - 8:
        low -= 1
    return " ".join(context[spans[low][0] : spans[high][1]].split()[: WORDS * 2])


def squad(path: Path) -> list[Reading]:
    """The answerable questions of a file in SQuAD layout, those of one chunk together."""
    chunks: dict[str, list[Asked]] = defaultdict(list)
    for article in json.loads(path.read_text("utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            for qa in paragraph["qas"]:
                if qa["answers"]:
                    answer = qa["answers"][0]
                    text = _chunk(paragraph["context"], answer["answer_start"])
                    asked = Asked(qa["question"].strip(), answer["text"], ((answer["text"], True),))
                    chunks[text].append(asked)
    return _clean(chunks)


def nq(path: Path) -> list[Reading]:
    """NQ-open questions with their gold passage."""
    chunks: dict[str, list[Asked]] = defaultdict(list)
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        context = row["ctxs"][0]["text"]
        found = [(context.find(a), a) for a in row["answers"] if a in context]
        if found:
            position, answer = min(found)
            chunks[_chunk(context, position)].append(
                Asked(row["question"].capitalize() + "?", answer, ((answer, True),))
            )
    return _clean(chunks)


def _clean(chunks: dict[str, list[Asked]]) -> list[Reading]:
    groups = ((text, tuple(asked[i : i + 4])) for text, asked in chunks.items() for i in range(0, len(asked), 4))
    return [Reading(text, asked) for text, asked in groups if is_clean(text, *(a.question for a in asked))]


def load(data: Path) -> list[Reading]:
    """All real reading under the data folder."""
    files = (data / "squad" / "squad2_dev_half.json", data / "squad" / "xquad.en.json")
    return [r for f in files for r in squad(f)] + nq(data / "nq_open" / "nq-open-oracle.jsonl")
