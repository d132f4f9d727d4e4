"""Whose each topic is. Pure; knows no socket."""

from __future__ import annotations

from collections import defaultdict, deque

MAX_TOPICS = 4_096  # remembered of one user


class Topics:
    """A topic is its first subscriber's, also after that connection broke: others may have waited for it to break.

    Of each user the newest topics are remembered, so that nobody can make others' be forgotten.
    """

    def __init__(self, max_topics: int = MAX_TOPICS) -> None:
        self._owners: dict[bytes, str] = {}
        self._topics: dict[str, deque[bytes]] = defaultdict(deque)
        self._max_topics = max_topics

    def owner(self, topic: bytes) -> str | None:
        """Whose it is; None for nobody's."""
        return self._owners.get(topic)

    def give(self, topic: bytes, user: str) -> None:
        """Make it this user's, whoever had it."""
        if self._owners.get(topic) == user:
            return
        self._owners[topic] = user
        self._topics[user].append(topic)
        if len(self._topics[user]) > self._max_topics:
            oldest = self._topics[user].popleft()
            if self._owners.get(oldest) == user:
                del self._owners[oldest]
