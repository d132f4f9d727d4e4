"""Search forms of a question in a conversation: the question, and what those before it are about.

"And when does it close?" is searched with words of the questions before it, the latest first, and counts twice beside
them; alone, since the conversation may have come to something else; and joined with all questions before it. The
retrieval daemon makes one order of what these find (forms.py there). A question that says by itself what it is about is
searched alone.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hocket_bus.messages import MAX_QUESTION_CHARS, Passages, Prompt
from hocket_retrieval.text.lexical import telling_words

# Chosen on half of MTRAG's conversations and of hocket's own: with more words what was asked about before is found.
FEWEST_WORDS = 4  # that tell something in a question that stands for itself
WORDS_BEFORE = 2  # of earlier questions that are searched with one that does not, and
WORDS_MEANT = 3  # where a pronoun stands for some of them
JOINED_CHARS = 1_000  # of questions joined: what embedders read
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
    """Passages, and the form of the question that they were scored against."""

    text: str
    passages: Passages


def search_text(prompt: Prompt) -> str:
    """Return the form to search with where a single search must do."""
    return search_texts(prompt)[:2][-1]


def search_texts(prompt: Prompt) -> list[str]:
    """Return the query and, if it refers to turns before it, its two other forms after it, each once.

    These are the query with words of earlier questions, and the latest of these joined with it. None is longer than a
    question may be. If a model has rewritten the query, the rewritten one is the only form.
    """
    if prompt.sought:
        return [prompt.sought]
    query = prompt.query.strip()
    earlier = _words_before(prompt) if prompt.turns and refers(query) else []
    texts = [query, " ".join([query, query, *earlier]), _joined(prompt, query)] if earlier else [query]
    return list(dict.fromkeys(text[:MAX_QUESTION_CHARS] for text in texts))


def _joined(prompt: Prompt, query: str) -> str:
    """Return the query after the latest questions in their order, as many as JOINED_CHARS hold."""
    joined = query
    for turn in reversed(prompt.turns):
        if len(joined) + len(turn.query) >= JOINED_CHARS:
            break
        joined = f"{turn.query} {joined}"
    return joined


def _words_before(prompt: Prompt) -> list[str]:
    """Return the telling words of earlier questions that this one has not, the latest first."""
    said = set(telling_words(prompt.query))
    earlier = telling_words(" ".join(turn.query for turn in reversed(prompt.turns)))
    number = WORDS_MEANT if has_pronoun(prompt.query) else WORDS_BEFORE
    return [word for word in earlier if word not in said][:number]


def refers(question: str) -> bool:
    """Tell whether a question needs what was said before: by a pronoun, how it begins, or few words."""
    few = len(telling_words(question)) < FEWEST_WORDS
    return few or has_pronoun(question) or _GOING_ON.match(question) is not None


def has_pronoun(question: str) -> bool:
    """Tell whether a question has a word that stands for something said before."""
    return not _REFERRING.isdisjoint(word.casefold() for word in _WORD.findall(question))
