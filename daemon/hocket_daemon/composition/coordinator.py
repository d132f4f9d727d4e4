"""The decision when memory is asked for again: once the context has changed by more than τ tokens since the last time.

When its writer pauses, any change is enough. The distance is the token-level Levenshtein distance (HybridRAG §3.2);
only what is new of the context is the query. One request runs at a time, and whatever the context is by its end is
asked for next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rapidfuzz.distance import Levenshtein

from hocket_bus.common_prefix import common_prefix_length
from hocket_bus.messages import MAX_QUERY_WORDS

Threshold = int | Literal["auto"]
FIRST, MINIMUM, MAXIMUM = 10, 5, 80  # of a threshold that sets itself
MIN_WORDS = 3  # of a query
PAUSED_WORDS = 8  # of a query at a pause, of which few may be new


class Coordinator:
    """A pure object: it is shown the context, and returns what to ask."""

    def __init__(self, threshold: Threshold) -> None:
        """Set τ in tokens; "auto" lowers it after a reply that brought something new, and raises it after others."""
        self.tau = FIRST if threshold == "auto" else threshold
        self.waiting = False  # for a reply
        self._sets_itself = threshold == "auto"
        self._ids: Sequence[int] | None = None  # of the context at the last request
        self._text = ""  # of the context at the last request
        self._answered = ""  # and at the last one that was answered

    def ask(self, ids: Sequence[int], text: str, *, paused: bool = False) -> str:
        """Return the query where memory is to be asked for, else "". `ids` and `text` are the context as it is now.

        Where the writer has `paused` a word that is new is enough, and is asked for with those before it.
        """
        if self.waiting or not (self._is_new(ids) or (paused and self._text.split() != text.split())):
            return ""
        query = new_part(self._answered, text)
        if paused and query and text.rstrip().endswith(query):
            query = " ".join(text.split()[-max(PAUSED_WORDS, len(query.split())) :])
        if len(query.split()) < MIN_WORDS:
            return ""
        self._ids, self._text = list(ids), text
        self.waiting = True
        return query

    def replied(self, news: int) -> None:
        """Note that the request has ended, and brought so many new takeaways."""
        self.waiting, self._answered = False, self._text
        if self._sets_itself:
            self.tau = max(MINIMUM, self.tau // 2) if news else min(MAXIMUM, self.tau * 2)

    def failed(self) -> None:
        """Note that the request has ended without a reply: what it asked for is part of the next query."""
        self.waiting = False

    def _is_new(self, ids: Sequence[int]) -> bool:
        return self._ids is None or Levenshtein.distance(self._ids, ids, score_cutoff=self.tau) > self.tau


def new_part(old: str, new: str) -> str:
    """Return the last words of what `new` has and `old` has not, all of them whole; at most MAX_QUERY_WORDS."""
    start = common_prefix_length(old, new)
    end = common_prefix_length(old[start:][::-1], new[start:][::-1])
    while 0 < start < len(new) and not (new[start].isspace() or new[start - 1].isspace()):
        start -= 1
    stop = len(new) - end
    while start < stop < len(new) and not (new[stop].isspace() or new[stop - 1].isspace()):
        stop += 1
    return " ".join(new[start:stop].split()[-MAX_QUERY_WORDS:])
