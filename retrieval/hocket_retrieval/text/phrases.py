"""Names and noun phrases of a text, by rules of writing alone: capitals, small words, and where a phrase ends.

A name is a run of capitalised words. A term is a run of other words that tell something, its last three at most. An
engine's mentions keep to the same bounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .phrase_words import BEFORE_VERBS, NO_ENTITY

MAX_NAME_WORDS = 4
MAX_TERM_WORDS = 3
MIN_CHARS = 3
MAX_WORD_CHARS = 30  # a longer run of letters is no word
MAX_MENTIONS = 9  # of one chunk: more of them tell little more, and all are related to all

# A dot within a word, as in "U.S" and "example.org", is followed by no capitalised word: that begins a sentence.
WORD = r"[^\W_][\w&'’\-]*(?:\.(?:[a-z\d]\w*|[A-Z]\b))*\.?"
_TOKEN = re.compile(WORD + r"|\n\s*\n|[^\w\s]")
_ENDS_SENTENCE = frozenset(".!?…:•")
_JOINS = frozenset(("of", "de", "la", "del", "der", "van", "von", "&"))


def mentions(text: str) -> list[str]:
    """The MAX_MENTIONS most telling names and terms of a text as they are spelled."""
    return most_specific(_phrases(_words(text)))


def most_specific(found: Iterable[str]) -> list[str]:
    """Return at most MAX_MENTIONS of them, each once: names, then long terms."""
    return sorted(dict.fromkeys(found), key=lambda each: (not is_name(each), -each.count(" ")))[:MAX_MENTIONS]


def is_name(mention: str) -> bool:
    """Tell whether a mention is a name; terms are in lower case."""
    return mention != mention.lower()


def is_specific(word: str) -> bool:
    """Tell whether a word in lower case may be an entity by itself."""
    return word not in NO_ENTITY and MIN_CHARS - 1 <= len(word) <= MAX_WORD_CHARS and word[0].isalpha()


def is_long_enough(mention: str) -> bool:
    """Tell whether a mention is long enough to tell something; abbreviations may be shorter than words."""
    return len(mention) >= MIN_CHARS or mention.isupper()


class _Word(NamedTuple):
    text: str
    lower: str
    opens: bool  # the first of its sentence
    is_name: bool


_BREAK = _Word("", "", False, False)


def _words(text: str) -> Iterator[_Word]:
    """Words that may be part of an entity, and breaks between runs of them."""
    opens, before = True, ""
    for token in _TOKEN.findall(text):
        if not token[0].isalnum():
            yield _BREAK
            opens, before = token in _ENDS_SENTENCE or token[0] == "\n", ""
            continue
        ends = token[-1] == "."
        word = token.rstrip(".'’-")
        word = word[:-2] if word[-2:] in {"'s", "’s"} else word
        lower = word.lower().replace("’", "'")
        if lower in _JOINS:
            yield _Word(word, lower, opens, False)
        elif (before in BEFORE_VERBS and word == lower) or not is_specific(lower) or lower.endswith("ly"):
            yield _BREAK
        else:
            yield _Word(word, lower, opens, word != lower and not (opens and word[1:] == lower[1:]))
        opens, before = ends, lower


def _phrases(words: Iterator[_Word]) -> Iterator[str]:
    run: list[_Word] = []
    for word in words:
        if word is _BREAK or (run and not _continues(run, word)):
            yield from _ended(run)
            run = []
        if word is not _BREAK and (run or word.lower not in _JOINS):
            run.append(word)
    yield from _ended(run)


def _continues(run: list[_Word], word: _Word) -> bool:
    if word.lower in _JOINS:
        return run[-1].is_name
    joined = run[-1].lower in _JOINS
    first_opens = len(run) == 1 and run[0].opens and run[0].text != run[0].lower
    return word.is_name == run[-1].is_name or (word.is_name and (joined or first_opens))


def _ended(run: list[_Word]) -> Iterator[str]:
    """Yield the entity that a run of words is, if it is one."""
    while run and run[-1].lower in _JOINS:
        run = run[:-1]
    if not run:
        return
    kept = run[:MAX_NAME_WORDS] if run[-1].is_name else run[-MAX_TERM_WORDS:]
    text = " ".join(word.text if word.is_name or run[-1].is_name else word.lower for word in kept)
    if is_long_enough(text):
        yield text
