"""The rate limit for malformed messages, by user. Pure; knows no socket."""

from __future__ import annotations

MAX_MALFORMED = 100  # messages within the window
WINDOW_S = 60.0
REFUSED_S = 60.0


class MalformedLimit:
    """Counts malformed messages by user; who sends too many within the window is refused for a while."""

    def __init__(self) -> None:
        self._windows: dict[str, tuple[float, int]] = {}  # since when, and how many
        self._refused_until_s: dict[str, float] = {}

    def refuses(self, user: str, now: float) -> bool:
        """Whether nothing is taken from this user now."""
        return now < self._refused_until_s.get(user, now)

    def count(self, user: str, now: float) -> bool:
        """Count one message; whether it is the one that reaches the limit, with which the refusal begins."""
        since, count = self._windows.pop(user, (now, 0))
        if now - since >= WINDOW_S:
            since, count = now, 0
        if count + 1 >= MAX_MALFORMED:
            self._refused_until_s[user] = now + REFUSED_S
            return True
        self._windows[user] = (since, count + 1)
        return False
