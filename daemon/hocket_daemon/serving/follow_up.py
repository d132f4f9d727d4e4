"""What is searched for a question of a conversation: the question, and what those before it are about.

"And when does it close?" is searched with words of the questions before it, the latest first, and counts twice beside
them. It is searched alone, too: the conversation may have come to something else, and where that finds what is near and
about as near, it has. A question that says by itself what it is about is searched alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from hocket_bus.messages import MAX_QUESTION_CHARS, Passages, Prompt
from hocket_retrieval.lexical import telling_words

# Chosen on half of MTRAG's conversations and of hocket's own: with more words what was asked about before is found.
FEWEST_WORDS = 4  # that tell something in a question that stands for itself
WORDS_BEFORE = 2  # of earlier questions that are searched with one that does not, and
WORDS_MEANT = 3  # where a pronoun stands for some of them
NEAR = 0.4  # the score from which on what a question finds by itself may be what it is about,
AS_NEAR = 0.9  # and as a share of the best that it finds with words of those before it
_PRONOUNS = {
    "English": "it its they them their theirs this that these those he him his she her hers there one ones such same "
    "another other others else more also too both either neither former latter",
    "German": "er sie ihn ihm ihr ihnen sein seine ihre dies diese dieser dieses dieselbe derselbe dort davon dafür",
    "French": "il elle ils elles celui celle ceux cela ça cet cette leur leurs lui",
    "Spanish": "él ella ellos ellas ese esa eso este esta esto aquel aquella allí ello",
}
_REFERRING = frozenset(word for words in _PRONOUNS.values() for word in words.split())
_GOING_ON = re.compile(r"(and|but|so|also|what about|how about|und|aber|et|mais|y|pero)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")


class Found(NamedTuple):
    """Passages, and the text that found them.

    Their seconds are of all searches. Where each finds the same passage first, what that has of either's words counts.
    """

    text: str
    passages: Passages


def read_of(found: Sequence[Found]) -> Found:
    """What is read of what each of a prompt's `search_texts` has found."""
    text, passages = found[chosen([each.passages.passages for each in found])]
    alike = [each.passages.matched for each in found if _first(each.passages) == _first(passages)]
    return Found(text, replace(passages, seconds=sum(each.passages.seconds for each in found), matched=max(alike)))


def _first(found: Passages) -> tuple[str, int] | None:
    """The passage that is read first."""
    return next(((each.document, each.ordinal) for each in found.passages), None)


class Scored(Protocol):
    """A passage, and how near it is."""

    @property
    def score(self) -> float:
        """Up to 1."""


def chosen(found: Sequence[Sequence[Scored]]) -> int:
    """Which is read, by the scores of what each of a prompt's `search_texts` has found."""
    alone, best = (max((each.score for each in passages), default=0.0) for passages in (found[0], found[-1]))
    return 0 if alone >= max(NEAR, AS_NEAR * best) else len(found) - 1


def search_text(prompt: Prompt) -> str:
    """What is searched where one search has to do."""
    return search_texts(prompt)[-1]


def search_texts(prompt: Prompt) -> list[str]:
    """The query itself, and behind it, where it refers to turns before it, the query with words of theirs.

    None is longer than a question may be. What a model has made of query and turns is searched instead.
    """
    if prompt.sought:
        return [prompt.sought]
    query = prompt.query.strip()
    earlier = _words_before(prompt) if prompt.turns and refers(query) else []
    texts = [query, " ".join([query, query, *earlier])] if earlier else [query]
    return list(dict.fromkeys(text[:MAX_QUESTION_CHARS] for text in texts))


def _words_before(prompt: Prompt) -> list[str]:
    """Those of earlier questions that tell something and that this one has not, the latest first."""
    said = set(telling_words(prompt.query))
    earlier = telling_words(" ".join(turn.query for turn in reversed(prompt.turns)))
    number = WORDS_MEANT if _has_pronoun(prompt.query) else WORDS_BEFORE
    return [word for word in earlier if word not in said][:number]


def refers(question: str) -> bool:
    """Whether it cannot be understood without what was said before: by a pronoun, how it begins, or few words."""
    few = len(telling_words(question)) < FEWEST_WORDS
    return few or _has_pronoun(question) or _GOING_ON.match(question) is not None


def _has_pronoun(question: str) -> bool:
    return not _REFERRING.isdisjoint(word.casefold() for word in _WORD.findall(question))
