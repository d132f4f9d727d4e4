"""Which of the known sentences the one that is typed goes on with, and which numbers and names that lets it bring.

Facts that are nearly alike differ in few words, such as a name: those of them that were typed decide. Where they do not,
nothing is decided: a value of another fact is worse than none. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log

from hocket_retrieval.chunking import sentences
from hocket_retrieval.lexical import telling_stems

TOLD = 0.6  # of what tells in a sentence before its value, to be typed before that is suggested
NEAR = 0.75  # of the best score: a sentence that has as much of what was typed may be meant as well
SEEN = 800  # characters before the cursor in which the sentences are that may be gone on with
EARLIER = 2  # sentences before the one that is typed, which tell what that is about
_LINE = re.compile(r"[\r\n]+")
_WORD = re.compile(r"\w+")
# A number or a code with its parts, such as 17:01, 0165 477 1095, 23 September 2033 and VS-5972.
_PART = r"\d(?:[\w.,:/'’-]*\w)?"
_VALUE = re.compile(rf"(?<!\w)(?:[A-Z]{{1,4}}[-/ ]?)?{_PART}(?:[ ](?:[^\W\d_]{{3,9}}[ ](?=\d{{4}}))?{_PART})*(?!\w)")
_NAMES = re.compile(r"[^\W\d_a-zß-öø-ÿ]\w*(?:[ \t]+[^\W\d_a-zß-öø-ÿ]\w*)*")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A known one: `stems` are those of its telling words, `words` all of them, `names` its runs of such words."""

    text: str
    stems: frozenset[str]
    words: frozenset[str]
    names: tuple[frozenset[str], ...]

    @property
    def numbers(self) -> frozenset[str]:
        """Its words with a digit."""
        return frozenset(word for word in self.words if any(map(str.isdigit, word)))


class Evidence:
    """Known sentences: takeaways, and those of the text itself."""

    def __init__(self, known: Iterable[str], language: str) -> None:
        """`language` is that of the text, whose small words tell nothing."""
        self._sentences = [_sentence(text, language) for text in dict.fromkeys(known)]
        self._language = language

    def meant(self, written: str) -> list[str]:
        """The sentences that the last one of what is `written` goes on with; empty where nothing typed decides."""
        current = current_sentence(written)
        open_ = [each for each in self._sentences if not each.numbers or _is_open(each, current)]
        return [each.text for each in self._meant(written, open_)]

    def narrowed(self, written: str) -> list[str]:
        """The sentences to be read before what is `written`: those that are meant, where others have values, too."""
        found = self.meant(written)
        others = [each for each in self._sentences if each.text not in found]
        is_alike = any(each.numbers for each in others) and any(_VALUE.search(text) for text in found)
        return found if is_alike else [each.text for each in self._sentences]

    def value(self, written: str) -> str:
        """The value that the one sentence which is meant has behind what was typed of it; empty where there is none."""
        current = current_sentence(written)
        pool = [each for each in self._sentences if _is_open(each, current)]
        values = {_next_value(each, current, self._language) for each in self._meant(written, pool)}
        return values.pop() if len(values) == 1 else ""

    def has(self, word: str, written: str) -> bool:
        """Whether a number or a name may follow what is `written`: every sentence that may be meant has it."""
        folded, current = word.lower(), current_sentence(written)
        is_number = any(map(str.isdigit, word))
        pool = [each for each in self._sentences if not is_number or _is_open(each, current)]
        found = self._meant(written, pool)
        return bool(found) and all(folded in each.words for each in found)

    def _meant(self, written: str, pool: Sequence[Sentence]) -> list[Sentence]:
        current, *earlier = _last_sentences(written)
        typed = _sentence(current, self._language)
        found = _best(pool, typed.stems)
        found = [each for each in found if not self._is_of_another(each, typed)]
        if len(found) > 1 and all(typed.stems <= each.stems for each in found):
            before = frozenset(telling_stems(" ".join(earlier), self._language))
            found = _best(found, typed.stems | before)
        return found

    def _is_of_another(self, known: Sentence, typed: Sentence) -> bool:
        """Whether each name of a sentence is another one than is typed; German writes all nouns like names."""
        if self._language == "german" or not known.names or not typed.names:
            return False
        return not any(
            name <= typed.words or any(name <= each or each <= name for each in typed.names) for name in known.names
        )


def current_sentence(written: str) -> str:
    """The sentence, or the line, at the end of a text."""
    return _last_sentences(written)[0]


def earlier_sentences(written: str) -> list[str]:
    """The sentences and lines before that, of the last SEEN characters, in their order."""
    return _split(written[-SEEN:])[:-1]


def _last_sentences(written: str) -> list[str]:
    """The one that is typed, and then those before it, the last one first."""
    return _split(written[-SEEN:])[: -EARLIER - 2 : -1] or [""]


def _split(text: str) -> list[str]:
    """Sentences and lines; the last one is empty where one has just ended."""
    lines = _LINE.split(text)
    parts = [part for line in lines for start, end in sentences(line) if (part := line[start:end].strip())]
    is_ended = not lines[-1].strip() or not text[-1:].strip() and _ends(lines[-1])
    return [*parts, ""] if is_ended else parts


def _ends(line: str) -> bool:
    return len([end for _, end in sentences(line)]) > 1 and line.rstrip()[-1:] in ".!?…"


def _best(pool: Sequence[Sentence], typed: frozenset[str]) -> list[Sentence]:
    """Those that have about as much of what is typed as the best; rare words count more, what all have little."""
    held = [each.stems & typed for each in pool]
    frequency = Counter(stem for stems in held for stem in stems)
    scores = [sum(log((len(pool) + 0.5) / frequency[stem]) for stem in stems) for stems in held]
    best = max(scores, default=0.0)
    near = [at for at, score in enumerate(scores) if score > 0 and score >= NEAR * best]
    return [pool[at] for at in near if not any(held[at] < held[other] for other in near)]


def _is_open(known: Sentence, current: str) -> bool:
    """Whether a sentence has a number that does not stand in the one that is typed."""
    return not known.numbers <= {word.lower() for word in _WORD.findall(current)}


@lru_cache(maxsize=512)
def _sentence(text: str, language: str) -> Sentence:
    words = frozenset(word.lower() for word in _WORD.findall(text))
    names = tuple(
        frozenset(word.lower() for word in _WORD.findall(run[0]))
        for run in _NAMES.finditer(text)
        if " " in run[0] or run.start() > 0  # a word that begins a sentence is no name by that alone
    )
    return Sentence(text, frozenset(telling_stems(text, language)), words, names)



def _next_value(known: Sentence, current: str, language: str) -> str:
    """The first value behind the last word that is typed of a sentence, where most of what tells before it is."""
    typed = frozenset(telling_stems(current, language))
    ends = [word.end() for word in _WORD.finditer(known.text) if not typed.isdisjoint(telling_stems(word[0], language))]
    value = _VALUE.search(known.text, max(ends, default=0))
    if value is None:
        return ""
    telling = frozenset(telling_stems(known.text[: value.start()], language))
    return value[0] if len(telling & typed) >= TOLD * len(telling) and telling else ""


def rest_of(value: str, written: str) -> str:
    """What is left to be typed of a value at the end of a text, with the blank before it; empty where nothing is."""
    for count in range(len(value), 0, -1):
        if written.endswith(value[:count]) and not written[: -count or None][-1:].isalnum():
            return value[count:]
    if written[-1:].isdigit():
        return ""  # another number is being typed
    return f" {value}" if written[-1:].isalnum() or written[-1:] in ".,:;" else value
