"""The known sentence that the typed one goes on with, and the values that it allows to be suggested.

Facts that are nearly alike differ in few words, such as a name: those of them that were typed decide. Where they do
not, nothing is decided: a value of another fact is worse than none. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log

from hocket_retrieval.text.chunking import sentences
from hocket_retrieval.text.lexical import telling_stems

TOLD = 0.6  # of what tells in a sentence before its value, to be typed before that is suggested
NEAR = 0.75  # of the best score: a sentence that has as much of what was typed may be meant as well
SEEN = 800  # characters before the cursor in which sentences are looked for
EARLIER = 2  # sentences before the one that is typed, which tell what that is about
_LINE = re.compile(r"[\r\n]+")
_WORD = re.compile(r"\w+")
# A number or a code with its parts, such as 17:01, 0165 477 1095, 23 September 2033 and VS-5972.
_PART = r"\d(?:[\w.,:/'’-]*\w)?"
_VALUE = re.compile(rf"(?<!\w)(?:[A-Z]{{1,4}}[-/ ]?)?{_PART}(?:[ ](?:[^\W\d_]{{3,9}}[ ](?=\d{{4}}))?{_PART})*(?!\w)")
_CAPITAL = r"[^\W\d_a-zß-öø-ÿ]\w*"
_NAMES = re.compile(rf"{_CAPITAL}(?:[ \t]+{_CAPITAL})*")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A known sentence: `stems` of its telling words, all `words`, those with digits, and its capitalised `names`."""

    text: str
    stems: frozenset[str]
    words: frozenset[str]
    numbers: frozenset[str]
    names: tuple[frozenset[str], ...]


class Grounding:
    """The known sentences: takeaways, and those of the text itself."""

    def __init__(self, known: Iterable[str], language: str) -> None:
        """Analyse the `known` sentences; `language` is that of the text, whose small words are ignored."""
        self._sentences = [_sentence(text, language) for text in dict.fromkeys(known)]
        self._language = language

    def narrowed(self, written: str) -> list[str]:
        """Return the sentences to read before a text: where several have values, those that its last one is about."""
        current, *_ = _last_sentences(written)
        pool = [each for each in self._sentences if not each.numbers or _is_open(each, current)]
        found, _ = self._meant(written, pool)
        has_others = any(each.numbers for each in self._sentences if each not in found)
        decides = has_others and any(each.numbers for each in found)
        return [each.text for each in (found if decides else self._sentences)]

    def value(self, written: str) -> str:
        """Return the value that follows what was typed of the one sentence that is meant; empty where there is none."""
        current, *_ = _last_sentences(written)
        pool = [each for each in self._sentences if _is_open(each, current)]
        found, typed = self._meant(written, pool)
        values = {_next_value(each, typed, self._language) for each in found}
        return values.pop() if len(values) == 1 else ""

    def has(self, number: str, written: str) -> bool:
        """Tell whether a word with a digit may follow a text: every sentence that may be meant has it."""
        current, *_ = _last_sentences(written)
        word = number.lower()  # it may be the last of a value that has it twice, such as 19:19
        pool = [each for each in self._sentences if word in each.numbers or _is_open(each, current)]
        found, _ = self._meant(written, pool)
        return bool(found) and all(word in each.numbers for each in found)

    def _meant(self, written: str, pool: Sequence[Sentence]) -> tuple[list[Sentence], frozenset[str]]:
        """Return the sentences that the last sentence of a text may be about, and the stems that decide it.

        Where these stems are in all of them, the sentences before the last one decide, too.
        """
        current, *earlier = _last_sentences(written)
        typed = _sentence(current, self._language)
        found = [each for each in _best(pool, typed.stems) if not self._is_of_another(each, typed)]
        if not found or not all(typed.stems <= each.stems for each in found):
            return found, typed.stems
        stems = typed.stems.union(telling_stems(" ".join(earlier), self._language))
        return _best(found, stems), stems

    def _is_of_another(self, known: Sentence, typed: Sentence) -> bool:
        """Tell whether other names were typed than a sentence has; False in German, where all nouns look like names."""
        if self._language == "german" or not known.names or not typed.names:
            return False
        return not any(
            name <= typed.words or any(name <= each or each <= name for each in typed.names) for name in known.names
        )


def earlier_sentences(written: str) -> list[str]:
    """Return the sentences and lines before the one that is typed, of the last SEEN characters."""
    return _split(written[-SEEN:])[:-1]


def rest_of(value: str, written: str) -> str:
    """Return what is left to type of a value at the end of a text, with the blank before it; empty where none fits."""
    for count in range(len(value), 0, -1):
        if written.endswith(value[:count]) and not written[:-count][-1:].isalnum():
            return value[count:]
    if not value or written[-1:].isdigit():
        return ""  # there is none, or another number is being typed
    return f" {value}" if written[-1:].isalnum() or written[-1:] in ".,:;" else value


def _last_sentences(written: str) -> list[str]:
    """Return the sentence that is typed, and then those before it, the last one first."""
    return _split(written[-SEEN:])[: -EARLIER - 2 : -1]


def _split(text: str) -> list[str]:
    """Return sentences and lines; the last one is empty where one has just ended."""
    lines = _LINE.split(text)
    parts = [part for line in lines for start, end in sentences(line) if (part := line[start:end].strip())]
    *_, (start, _) = sentences(lines[-1])
    return parts if lines[-1][start:].strip() else [*parts, ""]


def _best(pool: Sequence[Sentence], typed: frozenset[str]) -> list[Sentence]:
    """Return the sentences that have about as much of what is typed as the best; rare words count more."""
    held = [each.stems & typed for each in pool]
    frequency = Counter(stem for stems in held for stem in stems)
    scores = [sum(log((len(pool) + 0.5) / frequency[stem]) for stem in sorted(stems)) for stems in held]
    best = max(scores, default=0.0)
    near = [at for at, score in enumerate(scores) if score > 0 and score >= NEAR * best]
    return [pool[at] for at in near if not any(held[at] < held[other] for other in near)]


def _is_open(known: Sentence, current: str) -> bool:
    """Tell whether a sentence has a number that is not in the one that is typed."""
    return not known.numbers <= {word.lower() for word in _WORD.findall(current)}


def _next_value(known: Sentence, typed: frozenset[str], language: str) -> str:
    """Return the value after the last typed word that has one after it; empty if too few telling words precede it.

    Empty, too, where a telling word stands between the two: that word comes next.
    """
    ends = [word.end() for word in _WORD.finditer(known.text) if not typed.isdisjoint(telling_stems(word[0], language))]
    found = next(((value, end) for end in reversed(ends) if (value := _VALUE.search(known.text, end))), None)
    if found is None:
        return ""
    value, end = found
    telling = frozenset(telling_stems(known.text[: value.start()], language))
    comes_next = not telling_stems(known.text[end : value.start()], language)
    return value[0] if comes_next and telling and len(telling & typed) >= TOLD * len(telling) else ""


@lru_cache(maxsize=512)
def _sentence(text: str, language: str) -> Sentence:
    words = frozenset(word.lower() for word in _WORD.findall(text))
    names = tuple(
        frozenset(word.lower() for word in _WORD.findall(run[0]))
        for run in _NAMES.finditer(text)
        if " " in run[0] or run.start() > 0  # a word that begins a sentence is no name by that alone
    )
    numbers = frozenset(word for word in words if any(map(str.isdigit, word)))
    return Sentence(text, frozenset(telling_stems(text, language)), words, numbers, names)
