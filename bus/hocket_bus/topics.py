"""Whose each topic is. Pure; knows no socket."""

from __future__ import annotations

from collections import defaultdict, deque

MOST = 4_096  # topics remembered of one user


class Topics:
    """A topic is its first subscriber's, also after that connection broke: others may have waited for it to break.

    Of each user the newest topics are remembered, so that nobody can make others' be forgotten.
    """

    def __init__(self, most: int = MOST) -> None:
        self._users: dict[bytes, str] = {}
        self._topics: dict[str, deque[bytes]] = defaultdict(deque)
        self._most = most

    def of(self, topic: bytes) -> str | None:
        """Whose it is, if anybody's."""
        return self._users.get(topic)

    def give(self, topic: bytes, user: str) -> None:
        """Make it this user's."""
        if self._users.get(topic) == user:
            return
        self._users[topic] = user
        self._topics[user].append(topic)
        if len(self._topics[user]) > self._most:
            oldest = self._topics[user].popleft()
            if self._users.get(oldest) == user:
                del self._users[oldest]
