"""Ownership of topics: which user each one belongs to. Pure; knows no socket."""

from __future__ import annotations

from collections import defaultdict, deque

MAX_TOPICS = 4_096  # remembered of one user


class Topics:
    """Owners of topics: a topic belongs to its first subscriber, even after that connection breaks.

    Otherwise another user could wait for the break and take the topic. Of each user the newest topics are remembered,
    so that nobody can make those of others be forgotten.
    """

    def __init__(self, max_topics: int = MAX_TOPICS) -> None:
        self._owners: dict[bytes, str] = {}
        self._topics: dict[str, deque[bytes]] = defaultdict(deque)
        self._max_topics = max_topics

    def owner(self, topic: bytes) -> str | None:
        """Return the user that owns the topic; None if nobody does."""
        return self._owners.get(topic)

    def give(self, topic: bytes, user: str) -> None:
        """Make this user the topic's owner, whoever owned it before."""
        if self._owners.get(topic) == user:
            return
        self._owners[topic] = user
        self._topics[user].append(topic)
        if len(self._topics[user]) > self._max_topics:
            oldest = self._topics[user].popleft()
            if self._owners.get(oldest) == user:
                del self._owners[oldest]
