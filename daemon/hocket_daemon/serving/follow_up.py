"""What is searched for a question of a conversation: the question, and what those before it are about.

"And when does it close?" is searched with words of the questions before it, the latest first, and counts twice beside
them: the conversation may have come to something else. A question that says by itself what it is about is searched
alone.
"""

from __future__ import annotations

import re

from hocket_bus.messages import MAX_QUESTION_CHARS, Prompt
from hocket_retrieval.lexical import telling_words

# Chosen on half of MTRAG's conversations and of hocket's own: with more words what was asked about before is found.
FEWEST_WORDS = 4  # that tell something in a question that stands for itself
WORDS_BEFORE = 2  # of earlier questions that are searched with one that does not, and
WORDS_MEANT = 3  # where a pronoun stands for some of them
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


def search_text(prompt: Prompt) -> str:
    """The query itself where no turn came before it, or it refers to none; as long as a question may be.

    What a model has made of query and turns is searched instead.
    """
    if prompt.sought:
        return prompt.sought
    query = prompt.query.strip()
    if not prompt.turns or not refers(query):
        return query[:MAX_QUESTION_CHARS]
    said = set(telling_words(query))
    earlier = telling_words(" ".join(turn.query for turn in reversed(prompt.turns)))
    number = WORDS_MEANT if _has_pronoun(query) else WORDS_BEFORE
    return " ".join([query, query, *[word for word in earlier if word not in said][:number]])[:MAX_QUESTION_CHARS]


def refers(question: str) -> bool:
    """Whether it cannot be understood without what was said before: by a pronoun, how it begins, or few words."""
    few = len(telling_words(question)) < FEWEST_WORDS
    return few or _has_pronoun(question) or _GOING_ON.match(question) is not None


def _has_pronoun(question: str) -> bool:
    return not _REFERRING.isdisjoint(word.casefold() for word in _WORD.findall(question))
