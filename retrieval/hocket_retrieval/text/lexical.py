"""The words of a text as they are searched, in any script, and the terms of a question; knows no index.

Text in a script without spaces is searched by overlapping pairs of characters. Every other word is searched whole, by
its stem, and in some languages by the words that it is made of (compounds.py). A name with signs in it, as `node.js` or
`C#`, is one word beside its parts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

from . import compounds, umlauts
from .languages import STEMMER, STOP_WORDS, detect, stem
from .normalization import fold, fold_case

MAX_TERMS = 16
DETECTED_CHARS = 20_000  # of a document tell its language
_KEPT, _KEPT_CHARS = 1 << 16, 32  # names of a language: so many, of at most so many characters
RECIPE = f"3, {STEMMER}, Unicode {unicodedata.unidata_version}"  # a store that was made by another one is indexed anew


def _class_of(codes: Iterable[int]) -> str:
    """Return ascending codes as the ranges between the brackets of a regular expression."""
    runs = ([code for _, code in run] for _, run in groupby(enumerate(codes), lambda pair: pair[1] - pair[0]))
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs)


def _is_mark(code: int) -> bool:
    return unicodedata.category(chr(code))[0] == "M"


_MARKS = _class_of(filter(_is_mark, range(0x300, 0x1E950)))  # combining ones; Python takes them for no part of a word
# What a word is made of, below U+10000 as one class: Python looks such a one up in a table.
_LETTERS = _class_of(code for code in range(1 << 16) if chr(code).isalnum() or _is_mark(code))
# Thai to Khmer, kana, Hangul and the Han ideographs.
_PAIRED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\ua9e0-\ua9ff\uaa60-\uaa7f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = rf"(?:[{_LETTERS}]++|(?=[\U00010000-\U0010ffff])(?:[^\W_]|[{_MARKS}]))++"
_ASCII_WORD = "[A-Za-z0-9]++"
_WORDS = re.compile(_WORD)
_NUMBER = r"\d+(?:[.,'’\u00a0\u202f]\d+)*"
_NUMBERS = re.compile(_NUMBER)
_IDENTIFIER = re.compile(
    r"(?:\b[A-Z]{2}\d{2}|\+\d+|\b0\d+)(?:[ \u00a0\u202f]\d+){2,}"
)  # of a bank account, a telephone
_MIN_DIGITS = 8  # of a word that is an identifier without blanks
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[ \u00a0\u202f().,/-]+(?=\d)")
_TELLING = re.compile(f"{_NUMBER}(?!{_WORD})|{_WORD}")
# What stands between spaces: a word, or several that signs join, perhaps with a dot before it or with # or + behind it.
_NAME = r"(?:(?<![^\s(\"'])\.)?{0}(?:[.&@/:_#+-](?:(?<=\+)\+)?{0})*+(?:#|\+\+?)?+"
_NAMES = re.compile(_NAME.format(_WORD))
_ASCII_WORDS, _ASCII_NAMES = map(re.compile, (_ASCII_WORD, _NAME.format(_ASCII_WORD)))
_RUNS = re.compile(rf"[{_PAIRED}][{_PAIRED}{_MARKS}]*")
_CLUSTER = re.compile(rf".[{_MARKS}]*", re.DOTALL)


class Indexed(NamedTuple):
    """A text's two columns: its words in their order; stems, parts, names with signs. Each is cut at spaces."""

    plain: str
    forms: str


class QueryTerms(NamedTuple):
    """Words to find among the plain ones; those of them that may also begin one; and words to find among the forms."""

    plain: list[str]
    prefixes: list[str]
    forms: list[str]


def whole_words(text: str) -> list[str]:
    """The words of a text, folded, in its order; a run of a script without spaces is one."""
    return [word for found in _WORDS.findall(fold_case(text)) if (word := fold(found))]


def words(text: str) -> list[str]:
    """The words of a text as they are searched, in its order: pairs where a script has no spaces."""
    return [part for word in whole_words(text) for part in _parts(word)]


def telling_words(query: str) -> list[str]:
    """The words that tell what a question is about, in its order, each once.

    Where none tells anything, nor any name with signs, all words of the question are these.
    """
    return list(dict.fromkeys(words(" ".join(_telling(query)))))


def telling_stems(text: str, language: str) -> list[str]:
    """The words of a text that tell what it is about, in its order: by their stems in `language`, numbers as they are.

    Where a script has no spaces these are pairs of characters.
    """
    found, stop_words = _WORDS.findall(fold_case(text)), STOP_WORDS.get(language, frozenset[str]())
    telling = (word for word in found if word not in stop_words and not (len(word) == 1 and "a" <= word <= "z"))
    stems = (word if word[0].isdigit() else stem(word, language) for word in telling)
    return [part for each in stems for part in _parts(fold(each))]


def missing_words(text: str, read: Iterable[str]) -> list[tuple[int, int]]:
    """Return the spans of the words and numbers of a text that no text in `read` has.

    A word is present whole or by its stem, a number whatever separates its thousands. The number of a bank account or a
    telephone, three groups of digits at least, is present if all its digits are, in a row. Words that tell nothing are
    never missing. In a script without spaces those characters are missing that are in no pair which is present.
    """
    stop_words = STOP_WORDS[detect(_WORDS.findall(fold_case(text)))]
    held = [_Held.of(each) for each in read]
    identifiers = {
        found.span(): any(each.has_digits(found[0]) for each in held) for found in _IDENTIFIER.finditer(text)
    }
    missing = [span for span, is_held in identifiers.items() if not is_held]
    for found in _TELLING.finditer(text):
        if any(start <= found.start() < end for start, end in identifiers):
            continue
        word = fold_case(found[0])
        if word in stop_words or ("a" <= word <= "z" and len(word) == 1) or any(each.has(word) for each in held):
            continue
        missing += _unpaired(found, held) if _RUNS.search(word) else [found.span()]
    return sorted(missing)


class _Held(NamedTuple):
    """The words and numbers of a text as they are searched, and its stems in its language.

    `amounts` are numbers outside identifiers, of which each group is a word only. `digits` is the text without what
    separates digits.
    """

    words: frozenset[str]
    amounts: frozenset[str]
    digits: str
    stems: frozenset[str]
    language: str

    @classmethod
    def of(cls, text: str) -> _Held:
        language, amounts = language_of(text), set(map(_digits, _NUMBERS.findall(_IDENTIFIER.sub(" ", text))))
        stems, held = _stems(_WORDS.findall(fold_case(text)), language), frozenset([*words(text), *amounts])
        return cls(held, frozenset(amounts), _BETWEEN_DIGITS.sub("", text), frozenset(stems), language)

    def has(self, word: str) -> bool:
        if _NUMBERS.fullmatch(word):
            return _digits(word) in (self.words if word.isdigit() else self.amounts) or self._has_identifier(word)
        if (
            self._has_identifier(word)
            or self.words.issuperset(_parts(fold(word)))
            or not self.stems.isdisjoint(_stems([word], self.language))
        ):
            return True
        return bool(compounds.held([word], self.language, self.words))

    def _has_identifier(self, word: str) -> bool:
        return sum(map(str.isdigit, word)) >= _MIN_DIGITS and self.has_digits(word)

    def has_digits(self, identifier: str) -> bool:
        """Tell whether all digits of an identifier are here, in a row."""
        return "".join(filter(str.isdigit, identifier)) in self.digits


def _digits(number: str) -> str:
    return fold("".join(_WORDS.findall(number)))


def _unpaired(found: re.Match[str], held: Sequence[_Held]) -> Iterator[tuple[int, int]]:
    """Yield the spans of several characters of a word in which no pair is held."""
    clusters = [(each.start(), each.end()) for each in _CLUSTER.finditer(found[0])]
    covered = [False] * len(clusters)
    for at, (first, second) in enumerate(pairwise(clusters)):
        pair = fold(found[0][first[0] : second[1]])
        if any(pair in each.words for each in held):
            covered[at] = covered[at + 1] = True
    for is_held, run in groupby(zip(covered, clusters, strict=True), lambda each: each[0]):
        ends = [cluster for _, cluster in run]
        if not is_held and len(ends) > 1:
            yield found.start() + ends[0][0], found.start() + ends[-1][1]


def language_of(text: str) -> str:
    """The language whose stems are searched, by the beginning of the text."""
    return detect(_found_words(fold_case(text[:DETECTED_CHARS])))


def indexed(text: str, language: str) -> Indexed:
    """Return what an index holds of a text in a language."""
    found = list(map(_names_of(language).__getitem__, _found_names(fold_case(text))))
    plain = " ".join(chain.from_iterable(each.plain for each in found))
    stems, names, made_of = (chain.from_iterable(map(itemgetter(column), found)) for column in (1, 2, 3))
    return Indexed(plain, " ".join(chain(stems, names, made_of, _last_characters(text))))


def query_terms(query: str) -> QueryTerms:
    """Return the terms of a question to search: the longest MAX_TERMS of each kind; all empty where it has no word."""
    plain = telling_words(query)
    singles = [word for word in plain if _is_single(word)]
    language, telling = language_of(query), _telling(query)
    forms = [*singles, *_names(query), *_stems(telling, language), *umlauts.stems(telling, language)]
    parts = chain.from_iterable(compounds.asked(word, language) for word in telling)
    longest = _longest(plain)
    return QueryTerms(longest, [word for word in longest if word in singles], [*_longest(forms), *_longest(parts)])


class _Named(NamedTuple):
    """The indexed parts of a name, a word or several joined by signs: plain words, stems, the whole if it has signs.

    `made_of` are the parts of compounds, and stems as if written with umlauts.

    Every word of a text stands in one such name.
    """

    plain: tuple[str, ...]
    stems: tuple[str, ...]
    names: tuple[str, ...]
    made_of: tuple[str, ...]


class _Names(dict[str, _Named]):
    """A cache of a language's names as they are indexed: most of a text are frequent ones."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._language = language

    def __missing__(self, name: str) -> _Named:
        found = _WORDS.findall(name)
        plain = tuple(part for word in found for part in _parts(fold(word)))
        made_of = (*_made_of(found, self._language), *umlauts.stems(found, self._language))
        named = _Named(plain, tuple(_stems(found, self._language)), () if found == [name] else (fold(name),), made_of)
        if len(name) <= _KEPT_CHARS:
            if len(self) >= _KEPT:
                self.clear()
            self[name] = named
        return named


_names_of = lru_cache(maxsize=4)(_Names)


def match_expression(query: str) -> str | None:
    """A question's terms as SQLite's FTS5 takes them, the columns being those of Indexed; None where no word is."""
    plain, prefixes, forms = query_terms(query)
    asked = {
        "plain": [f'"{word}"' + "*" * (word in prefixes) for word in plain],
        "forms": [f'"{word}"' for word in forms],
    }
    return " OR ".join(f"{column} : ({' OR '.join(terms)})" for column, terms in asked.items() if terms) or None


def is_spaced(character: str) -> bool:
    """Tell whether the script of a character has spaces between words."""
    return _RUNS.match(character) is None


def _telling(query: str) -> list[str]:
    """Return the words of a query that tell something, case folded, with accents; without any, all of its words.

    Frequent words rank little and cost the most; apostrophes leave single letters.
    """
    folded = fold_case(query)
    found = _WORDS.findall(folded)
    stop_words = STOP_WORDS[detect(found)]
    telling = [word for word in found if word not in stop_words and not ("a" <= word <= "z" and len(word) == 1)]
    return telling or ([] if any(_names(query)) else found)


def _longest(terms: Iterable[str]) -> list[str]:
    return sorted(dict.fromkeys(terms), key=len, reverse=True)[:MAX_TERMS]


def _stems(case_folded: Iterable[str], language: str) -> Iterator[str]:
    return (fold(stem(word, language)) for word in case_folded if not word[0].isdigit() and not _RUNS.search(word))


def _made_of(case_folded: Iterable[str], language: str) -> Iterator[str]:
    return chain.from_iterable(compounds.parts(word, language) for word in case_folded if not _RUNS.search(word))


def _names(text: str) -> Iterator[str]:
    """Yield the names of a text that have signs in them, unlike a plain word."""
    return (fold(name) for name in _found_names(fold_case(text)) if not _WORDS.fullmatch(name))


def _found_words(case_folded: str) -> list[str]:
    return (_ASCII_WORDS if case_folded.isascii() else _WORDS).findall(case_folded)


def _found_names(case_folded: str) -> list[str]:
    return (_ASCII_NAMES if case_folded.isascii() else _NAMES).findall(case_folded)


def _parts(word: str) -> Iterator[str]:
    """Yield the searched parts of a word: runs of a script without spaces as pairs of characters, the rest whole."""
    at = 0
    for run in _RUNS.finditer(word):
        yield from filter(None, [word[at : run.start()]])
        yield from _pairs(_CLUSTER.findall(run[0]))
        at = run.end()
    yield from filter(None, [word[at:]])


def _pairs(characters: list[str]) -> Iterator[str]:
    yield from map("".join, pairwise(characters)) if len(characters) > 1 else characters


def _last_characters(text: str) -> Iterator[str]:
    """Yield the last character, which begins no pair, of each run of several in a script without spaces."""
    if text.isascii():
        return
    for run in _RUNS.findall(fold(text)):
        if len(characters := _CLUSTER.findall(run)) > 1:
            yield characters[-1]


def _is_single(word: str) -> bool:
    return _RUNS.fullmatch(word) is not None and len(_CLUSTER.findall(word)) == 1
