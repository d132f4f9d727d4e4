"""The parts of a question that asks several things: each is searched, and answered, by itself. Pure.

A search for all of them at once finds passages near none, and a small model answers one part and ends. A question is
parted where that is certain by its form: at question marks, and in English and German before an "and" that begins a
question of its own, as a comma or the order of the words shows. Everything else stays whole.
"""

from __future__ import annotations

import re

from hocket_retrieval.text.lexical import telling_words

MAX_PARTS = 4  # a question of more is a list, which a model answers as one
MAX_CHARS = 1_000  # what is longer is a program's prompt
_ASKED = re.compile(r"[^?？]+[?？]+[\"'”’»)]*")
_VERBS = (
    "is|are|was|were|am|do|does|did|can|could|will|would|shall|should|must|may|might|has|have|had|isn't|aren't|doesn't|"
    "don't|didn't"
)
_SUBJECTS = "i|you|he|she|it|we|they|the|a|an|this|that|these|those|my|your|his|her|its|our|their"
_BEFORE = r"(?:(?:in|on|at|by|for|from|to|with|of|until|since|within)\s+)?"  # "at what time"
_ENGLISH = (
    rf"{_BEFORE}(?:(?:who|what|when|where|how)['’]s\s+\w+|who(?:se|m)?\s+(?!(?:{_SUBJECTS})\b)\w+"
    rf"|(?:what|which|when|where|why|how|whose)(?:\s+(?!(?:{_SUBJECTS}|and|or)\b)[\w'-]+){{0,4}}?\s+(?:{_VERBS})\b"
    rf"|(?:what|which)\s+(?!(?:{_SUBJECTS})\b)\w+\s+\w+s\b)"
)
_NO_VERBS = (
    "der|die|das|den|dem|des|ein|eine|einen|einem|einer|ich|du|er|sie|es|wir|ihr|man|mein|meine|meinen|dein|deine|"
    "sein|seine|unser|unsere|und|oder|warum|wieso"
)
_GERMAN = (
    rf"(?:(?:in|an|bei|für|von|mit|um|bis|seit)\s+)?(?:wer|wen|wem|was|wann|wo|wohin|woher|warum|wieso|wie|wieviel|"
    rf"welche[rsnm]?|wessen)\s+(?!(?:{_NO_VERBS})\b)\w+"
)
_WORD = r"(?:who(?:se|m)?|what|which|when|where|why|how)(?:['’]s)?"
_OPENED = r"(?:(?:and|so|ok(?:ay)?)[,\s]+)?"  # before a question in a conversation
_JOINED = (  # how a sentence begins, and what stands between its questions
    (rf"{_OPENED}(?:{_ENGLISH}|(?:{_VERBS})\s+\w+\s+\w+)", rf",?\s+and\s+(?:also\s+)?(?={_ENGLISH})"),
    (rf"{_OPENED}{_BEFORE}{_WORD}\s", rf",\s+and\s+(?:also\s+)?(?={_BEFORE}{_WORD}\s)"),
    (rf"(?:und\s+)?{_GERMAN}", rf",?\s+und\s+(?:auch\s+)?(?={_GERMAN})"),
)
_RULES = tuple(tuple(re.compile(each, re.IGNORECASE) for each in rule) for rule in _JOINED)
_OF_BOTH = re.compile(
    r"\b(?:between|difference|differ|compare[ds]?|than|whether|either|both|zwischen|unterschied|vergleiche?|ob|sowohl)\b",
    re.IGNORECASE,
)


def parts_of(question: str) -> list[str]:
    """Return the parts of a question in their order, each with its question mark; the question alone if it has one."""
    if len(question) > MAX_CHARS:
        return [question]
    text = " ".join(question.split())
    asked = [each.strip() for each in _ASKED.findall(text)]
    is_covered = " ".join(asked).split() == text.split()  # an end without a mark is no question
    if not is_covered or not all(map(_is_question, asked)):
        asked = [text]
    parts = [part for each in asked for part in _joined(each)]
    return parts if 1 < len(parts) <= MAX_PARTS and all(map(telling_words, parts)) else [question]


def _is_question(text: str) -> bool:
    """Tell whether a sentence with a mark stands for itself: "Really?" and "The red one?" do not."""
    return len(text.split()) > 2 or text.startswith("¿")


def _joined(sentence: str) -> list[str]:
    """Return the questions that "and" joins in a sentence."""
    if _OF_BOTH.search(sentence):
        return [sentence]
    for begin, joint in _RULES:
        if begin.match(sentence):
            parts = [part.strip(" ,") for part in joint.split(sentence)]
            if len(parts) > 1 and all(len(re.split(r"[\s'’]+", part)) > 2 for part in parts):
                return [_as_question(part) for part in parts]
    return [sentence]


def _as_question(part: str) -> str:
    return f"{part[0].upper()}{part[1:].rstrip('?？ ')}?"
