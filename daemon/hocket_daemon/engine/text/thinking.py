"""A text without what a model thinks aloud before it: models do that of which a server does not tell it apart."""

from __future__ import annotations

TAGS = ("<think>", "<thinking>", "<thought>", "<reasoning>")


def closing(tag: str) -> str:
    """What ends the thought that a tag opens."""
    return tag.replace("<", "</")


class Thinking:
    """Takes the pieces of a text; what stands in such tags at its very beginning goes, with the blanks around it."""

    def __init__(self) -> None:
        self._held = ""  # may be the beginning of a tag, or of the one that closes
        self._closes = ""  # what ends the thought that goes on
        self._has_thought = False
        self._is_text = False

    @property
    def goes_on(self) -> bool:
        """Whether a thought is not closed yet."""
        return bool(self._closes)

    def add(self, piece: str) -> str:
        """What of it is text, as far as that is known."""
        if self._is_text:
            return piece
        self._held += piece
        if not self._closes:
            begun = self._held.lstrip().lower()
            opened = next((tag for tag in TAGS if begun.startswith(tag)), "")
            if not opened:
                return "" if any(tag.startswith(begun) for tag in TAGS) else self.end()
            self._closes, self._has_thought = closing(opened), True
        return self._behind()

    def end(self) -> str:
        """What was held back and is text after all; nothing is held any more."""
        held = "" if self._closes else self._held.lstrip() if self._has_thought else self._held
        self._held, self._is_text = "", True
        return held

    def _behind(self) -> str:
        at = self._held.lower().find(self._closes)
        if at < 0:
            self._held = self._held[-len(self._closes) :]
            return ""
        behind = self._held[at + len(self._closes) :]
        self._held, self._closes = "", ""
        return self.add(behind)
