"""Keeps the benchmark and the demo out of training: their names, and their sentences with names masked."""

import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ORDINARY = _words(
    "Airport Boats Bridge Building Captain Castle Copper Countess Cove Doctor Festival Glacier Grey "
    "Ground Harvest Hotel Ivory Lane Lantern Library Lower Mondays Mount Museum Paper Professor Puppet "
    "Quill Republic Roman Saint Salt Seven Strand Street Sundays Theatre University Upper Waltz Geese "
    "Yarns Finch Donovan Edmund Hannah Matthias Octavian Brill Gaunt Ashby Farrow Pieter Rosalind Tobias "
    "Valdemar Marsh-Enright Thessaly Orleans Lumbry Hale"
)  # words and names of ordinary English that any prose may hold
ROOT = Path(__file__).resolve().parents[2]
TOOLS, BENCH = ROOT / "tools" / "hocket_tools", ROOT / "lab" / "hocket_lab" / "bench" / "answers"
SENTENCE_END = re.compile(r"(?<=[.?!])\s+|\n+")
NAME = re.compile(r"\b[A-ZÀ-Þ][\w'’-]*(?:\s+[A-ZÀ-Þ][\w'’-]*)*|\S*\d\S*")


def documents() -> list[str]:
    """The text of every benchmark and demo document."""
    bench = json.loads((BENCH / "invented.json").read_text("utf-8"))
    demo = sorted((TOOLS / "demo").glob("*/*"))
    return [d["text"] for side in ("device", "cloud") for d in bench[side]] + [p.read_text("utf-8") for p in demo]


def questions() -> list[str]:
    """Every benchmark and demo question, two-part ones also by halves."""
    bench = json.loads((BENCH / "invented.json").read_text("utf-8"))["questions"]
    demo = json.loads((TOOLS / "demo" / "questions.json").read_text("utf-8"))
    whole = [q["question"] for q in bench + demo]
    halves = [half for q in whole if ", and " in q for half in q.split(", and ")]
    return whole + halves


def mask(sentence: str) -> str:
    """The sentence's template: names (runs of capitalised words) and numbers replaced, the first word kept apart."""
    body = sentence.strip().rstrip(".?!")
    first, _, rest = body.partition(" ")
    return f"{first.lower()} {NAME.sub('_', rest)}"


def templates(texts: Iterable[str]) -> set[str]:
    """Masked sentences of at least three words."""
    masked = (mask(s) for text in texts for s in SENTENCE_END.split(text) if s.count(" ") >= 2)
    return {m for m in masked if m.count("_") < len(m.split())}


def names(texts: Iterable[str]) -> set[str]:
    """Capitalised words inside sentences that no dictionary would hold: those the benchmark invented."""
    from words import CATEGORIES, NOUNS

    common = {w.lower() for words in CATEGORIES.values() for w in words} | set(NOUNS)
    found = {w for t in texts for w in re.findall(r"(?<=[\w,’)] )[A-ZÀ-Þ][\w-]{4,}", t)}
    return {w for w in found if w.lower() not in common and w not in ORDINARY}


@cache
def banned() -> tuple[frozenset[str], frozenset[str]]:
    """Names and templates that no training example may hold."""
    texts = documents()
    return frozenset(names(texts)), frozenset(templates([*texts, *questions()]))


def is_clean(*texts: str) -> bool:
    """Whether generated texts share no invented name and no template with the benchmark."""
    words, forms = banned()
    return not any(words & set(re.findall(r"[\w-]+", t)) or templates([t]) & forms for t in texts)
