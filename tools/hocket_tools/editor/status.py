"""The status line: where the suggestion comes from, how old the memory is, and what leaves this machine."""

from __future__ import annotations

from pathlib import PurePath

from hocket_client import Remembered, Suggestion

MAX_SOURCES = 3


class Status:
    """What there is to say; a message stands until the next one."""

    def __init__(self, *, asks_cloud: bool) -> None:
        self._asks_cloud = asks_cloud
        self._message = ""
        self._remembered: dict[str, int] = {}

    def show(self, message: str) -> None:
        """Instead of where the suggestion comes from."""
        self._message = message

    def remember(self, event: Remembered) -> None:
        """Takeaways have come."""
        self._message = ""
        self._remembered[event.side] = self._remembered.get(event.side, 0) + len(event.takeaways)

    def line(self, suggestion: Suggestion | None, name: str) -> str:
        """All of it."""
        leaves = "new words may leave for the cloud, redacted" if self._asks_cloud else "nothing leaves this device"
        return f" {name} | {self._message or self._from(suggestion)} | {leaves} "

    def _from(self, suggestion: Suggestion | None) -> str:
        if suggestion is None or not suggestion.memory_age_s:
            return "no memory yet"
        age = f"memory {suggestion.memory_age_s:.0f} s old"
        named = [f"{PurePath(each.document).name} ({each.side})" for each in suggestion.sources[:MAX_SOURCES]]
        return f"from {', '.join(named)}; {age}" if named else age
