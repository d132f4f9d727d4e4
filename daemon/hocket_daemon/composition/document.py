"""A text as the client has it: edited piece by piece, with a cursor and the beginning of the part that is read."""

from __future__ import annotations

from dataclasses import dataclass

from hocket_bus.errors import BadRequest
from hocket_bus.messages import MAX_TEXT_BYTES, Compose, Edit

BEHIND = 200  # characters behind the cursor that are looked at


@dataclass(slots=True)
class Document:
    """A text and its cursor; `anchor` is where the part begins that is read, `next_anchor` where that begins next.

    Both keep their places in the text when something changes before them.
    """

    text: str
    cursor: int
    version: int
    anchor: int = 0
    next_anchor: int = 0

    @classmethod
    def of(cls, whole: Compose) -> Document:
        """Make a document of a whole text. Raises BadRequest for a cursor outside the text."""
        _check(whole.text, whole.cursor)
        return cls(whole.text, whole.cursor, whole.version)

    def apply(self, edit: Edit) -> bool:
        """Make a change; return False for one of another version. Raises BadRequest for one outside the text."""
        if edit.base != self.version:
            return False
        end = edit.at + edit.removed
        if end > len(self.text):
            raise BadRequest(
                f"the change ends at {end}, the text has {len(self.text)} characters", "send the whole text"
            )
        text = self.text[: edit.at] + edit.inserted + self.text[end:]
        _check(text, edit.cursor)
        self.anchor, self.next_anchor = (_moved(anchor, edit) for anchor in (self.anchor, self.next_anchor))
        self.text, self.cursor, self.version = text, edit.cursor, edit.version
        return True

    @property
    def read(self) -> str:
        """The text that is read before the cursor; empty where the cursor stands before the anchor."""
        return self.text[self.anchor : self.cursor]

    @property
    def behind(self) -> str:
        """The text that follows the cursor, up to BEHIND characters."""
        return self.text[self.cursor : self.cursor + BEHIND]


def _moved(anchor: int, edit: Edit) -> int:
    """Return where an anchor is after a change."""
    if edit.at + edit.removed <= anchor and edit.at < anchor:
        return anchor + len(edit.inserted) - edit.removed
    return min(anchor, edit.at)


def _check(text: str, cursor: int) -> None:
    if len(text) > MAX_TEXT_BYTES:
        raise BadRequest(f"the text has {len(text)} characters, the limit is {MAX_TEXT_BYTES}", "compose a part of it")
    if cursor > len(text):
        raise BadRequest(f"the cursor is at {cursor}, the text has {len(text)} characters", "count in characters")
