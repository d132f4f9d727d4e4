"""How long messages that are none are borne from one key. Pure; knows no socket."""

from __future__ import annotations

MOST = 100  # bad messages within the window
WINDOW_S = 60.0
REFUSED_S = 60.0


class MalformedLimit:
    """Counts bad messages by user; too many within the window, and the user is refused for a while."""

    def __init__(self) -> None:
        self._windows: dict[str, tuple[float, int]] = {}  # since when, and how many
        self._refused_until_s: dict[str, float] = {}

    def refuses(self, user: str, now: float) -> bool:
        """Whether nothing is taken from this user now."""
        return now < self._refused_until_s.get(user, now)

    def note(self, user: str, now: float) -> bool:
        """A bad message came; whether it was the one too many, with which the refusal begins."""
        since, count = self._windows.pop(user, (now, 0))
        if now - since >= WINDOW_S:
            since, count = now, 0
        if count + 1 >= MOST:
            self._refused_until_s[user] = now + REFUSED_S
            return True
        self._windows[user] = (since, count + 1)
        return False
