"""Limit on the malformed messages that a key may send. Pure; knows no socket."""

from __future__ import annotations

MAX_MALFORMED = 100  # messages within the window
WINDOW_S = 60.0


class MalformedLimit:
    """A counter of malformed messages by user."""

    def __init__(self) -> None:
        self._windows: dict[str, tuple[float, int]] = {}  # since when, and how many

    def count(self, user: str, now: float) -> bool:
        """Count one message; tell whether it reaches the limit. The count begins anew with the next."""
        since, count = self._windows.pop(user, (now, 0))
        if now - since >= WINDOW_S:
            since, count = now, 0
        if count + 1 >= MAX_MALFORMED:
            return True
        self._windows[user] = (since, count + 1)
        return False
