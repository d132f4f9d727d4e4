"""The status line: where the suggestion comes from, how old the memory is, and what leaves this machine."""

from __future__ import annotations

from pathlib import PurePath

from hocket_client import Suggestion

MAX_SOURCES = 3


class Status:
    """The content of the status line; a message stays until the next one, or until memory comes."""

    def __init__(self, *, asks_cloud: bool) -> None:
        self._asks_cloud = asks_cloud
        self._message = ""

    def show(self, message: str) -> None:
        """Show a message in place of the suggestion's sources."""
        self._message = message

    def drop_message(self) -> None:
        """Show the suggestion's sources again."""
        self._message = ""

    def line(self, suggestion: Suggestion | None, name: str) -> str:
        """Return the whole status line."""
        leaves = "new words may be sent to the cloud, redacted" if self._asks_cloud else "nothing leaves this device"
        return f" {name} | {self._message or self._from(suggestion)} | {leaves} "

    def _from(self, suggestion: Suggestion | None) -> str:
        if suggestion is None or not suggestion.memory_age_s:
            return "no memory yet"
        age = f"memory {suggestion.memory_age_s:.0f} s old"
        named = [f"{PurePath(each.document).name} ({each.side})" for each in suggestion.sources[:MAX_SOURCES]]
        return f"from {', '.join(named)}; {age}" if named else age
