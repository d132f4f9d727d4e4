"""The second step of a search: from what was found to another document that it names. Pure.

"When was the founder of the bakery born?" finds a note on the bakery, which has her name and no day. So names that the
best passage has and the question has not are searched with the words that the question has and the passage has not. A
passage of another document counts that has one of these names and one of these words. A model reads both in one text.
Where the best passage has all words of the question, or no other name, one step is enough.

The same is done by personalised PageRank over a graph of names and passages in HippoRAG (Gutiérrez et al. 2024), where
a model reads the names; here one more search of the same store does it, and no model is called.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ..text.heads import HasNames, searched
from ..text.languages import detect
from ..text.lexical import telling_stems, whole_words, words
from ..text.phrases import is_name, mentions

MAX_CHARS = 1_000  # of what is searched
_WORD = re.compile(r"[\w'’-]+")


class Trail(NamedTuple):
    """The text that the second step searches, and the names of which a passage has to have one.

    It also has to have one of the words that are left of the question, `rest` by their stems. Of a trail from elsewhere
    these are not known. `score` is that of the passage from which it leads.
    """

    text: str
    names: list[str]
    score: float
    rest: Sequence[frozenset[str]] = ()
    language: str = ""

    def leads_to(self, passage: HasNames) -> bool:
        """Tell whether a passage has one of the names, and one of the words that are left."""
        text = searched(passage)
        said = {*words(text)}
        if not any(name and name <= said for name in map(_words_of, self.names)):
            return False
        stems = {*telling_stems(text, self.language)} if self.rest else set[str]()
        return not self.rest or any(word <= stems for word in self.rest)


def trail_of(query: str, best: HasNames, score: float) -> Trail | None:
    """Return the second search after a question's best passage, of this score; None where one step is enough."""
    language = detect(whole_words(query))
    rest, names = _rest(query, best, language), _names(query, best)
    if not rest or not names:
        return None
    text = " ".join([*rest, *names])
    return Trail(text[:MAX_CHARS], names, score, [_stems(word, language) for word in rest], language)


def _rest(query: str, best: HasNames, language: str) -> list[str]:
    """The words of a question that tell something and that a passage has not."""
    held = _stems(searched(best), language)
    return [word for word in _WORD.findall(query) if (stems := _stems(word, language)) and not stems <= held]


def _names(query: str, best: HasNames) -> list[str]:
    """The names that a passage has and a question has not, its title first."""
    said = {*words(query)}
    names = dict.fromkeys([best.title[:MAX_CHARS], *filter(is_name, mentions(best.text))])
    return [name for name in names if not {*words(name)} <= said]


@lru_cache(maxsize=1_000)  # each name is looked for in many passages
def _words_of(name: str) -> frozenset[str]:
    return frozenset(words(name))


def _stems(text: str, language: str) -> frozenset[str]:
    return frozenset(telling_stems(text, language))
