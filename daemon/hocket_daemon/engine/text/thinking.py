"""Separation of a text from the model's thought before it, for models whose server does not separate them."""

from __future__ import annotations

import re

TAGS = ("<think>", "<thinking>", "<thought>", "<reasoning>")


def closing(tag: str) -> str:
    """Return the tag that ends the thought which `tag` opens."""
    return tag.replace("<", "</")


class Thinking:
    """A filter for the pieces of a text: a thought in such tags at its beginning is removed, with the blanks around it.

    `thought` is the part of the thought that the last piece has added.
    """

    def __init__(self) -> None:
        self.thought = ""
        self._held = ""  # may be the beginning of a tag, or of the one that closes
        self._closes = ""  # what ends the thought that goes on
        self._has_thought = False
        self._is_text = False

    @property
    def goes_on(self) -> bool:
        """Tell whether a thought is not closed yet."""
        return bool(self._closes)

    def add(self, piece: str) -> str:
        """Add a piece and return the text in it, as far as that is known."""
        self.thought = ""
        return self._add(piece)

    def _add(self, piece: str) -> str:
        if self._is_text:
            return piece
        self._held += piece
        if not self._closes:
            begun = self._held.lstrip().lower()
            opened = next((tag for tag in TAGS if begun.startswith(tag)), "")
            if not opened:
                return "" if any(tag.startswith(begun) for tag in TAGS) else self.end()
            self._closes, self._has_thought = closing(opened), True
            self._held = self._held.lstrip()[len(opened) :]
        return self._behind()

    def end(self) -> str:
        """End the text and return what was held back and is text after all."""
        held = "" if self._closes else self._held.lstrip() if self._has_thought else self._held
        self._held, self._is_text = "", True
        return held

    def _behind(self) -> str:
        found = re.search(re.escape(self._closes), self._held, re.IGNORECASE | re.ASCII)
        if found is None:
            end = max(0, len(self._held) - len(self._closes) + 1)
            self.thought, self._held = self.thought + self._held[:end], self._held[end:]
            return ""
        behind = self._held[found.end() :]
        self.thought += self._held[: found.start()]
        self._held, self._closes = "", ""
        return self._add(behind)


class Trimmed:
    """A filter for the pieces of a text: the blanks at its two ends are removed."""

    def __init__(self) -> None:
        self._blanks = ""  # at the end so far
        self._has_begun = False

    def add(self, piece: str) -> str:
        """Add a piece and return what is sure to stay of the text."""
        whole = self._blanks + piece if self._has_begun else piece.lstrip()
        written = whole.rstrip()
        self._blanks = whole[len(written) :]
        self._has_begun = self._has_begun or bool(written)
        return written
