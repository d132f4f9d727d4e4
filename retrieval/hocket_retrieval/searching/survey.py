"""Find the documents that have some words, or count all of them, for questions about the collection itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import NamedTuple

from ..stores.folders import folder_of
from ..stores.protocol import Moment
from ..text.heads import searched
from ..text.lexical import language_of, telling_stems, telling_words

MAX_LOOKED = 2_000  # passages that have one of the words
MAX_KINDS = 64


class Surveyed(NamedTuple):
    """Names of documents, in their order, and how many end in each suffix, the most frequent first.

    `whole` is false where more than MAX_LOOKED passages have one of the words.
    """

    names: list[str]
    kinds: list[tuple[str, int]]
    whole: bool


def survey(moment: Moment, text: str, suffixes: Sequence[str], within: tuple[str, ...]) -> Surveyed:
    """Return the documents within some folders that have all significant words of `text`; all where it is empty."""
    names, whole = _having(moment, text, within) if text else (_inside(moment, within), True)
    wanted = frozenset(suffix.lower() for suffix in suffixes)
    kept = sorted(name for name in names if not wanted or _suffix(name) in wanted)
    return Surveyed(kept, Counter(map(_suffix, kept)).most_common(MAX_KINDS), whole)


def _inside(moment: Moment, within: tuple[str, ...]) -> Iterable[str]:
    folders = [folder_of(path) for path in within]
    names = (document.name for document in moment.documents())
    return [name for name in names if not folders or any(name == f.name or name.startswith(f.first) for f in folders)]


def _having(moment: Moment, text: str, within: tuple[str, ...]) -> tuple[Iterable[str], bool]:
    found = moment.by_words(text, MAX_LOOKED, within)
    missing = defaultdict[str, set[str]](lambda: {*telling_words(text)})
    for chunk in moment.chunks(found):
        said = searched(chunk)
        language = language_of(said)
        has = {*telling_stems(said, language), *telling_words(said)}
        missing[chunk.document] -= {word for word in missing[chunk.document] if _is_in(word, has, language)}
    return [name for name, left in missing.items() if not left], len(found) < MAX_LOOKED


def _is_in(word: str, has: set[str], language: str) -> bool:
    return word in has or not has.isdisjoint(telling_stems(word, language))


def _suffix(name: str) -> str:
    return PurePath(name).suffix.lower()
