"""The thoughts of the sides before they write: the reader gets one side's, whole and in order."""

from __future__ import annotations

from hocket_bus.messages import MAX_REASONING_CHARS, Side

from ...serving.stream.reply import Reply


class Thoughts:
    """The thoughts by side: passed on at once where no other side may be first, else with the answer's first token."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._waiting: dict[Side, str] = {}
        self._read: Side | None = None  # whose were passed on

    def add(self, side: Side, text: str, *, is_alone: bool) -> None:
        """Add a part of a side's thoughts; where it `is_alone`, the reader gets it now."""
        self._waiting[side] = (self._waiting.get(side, "") + text)[:MAX_REASONING_CHARS]
        if is_alone:
            self.pass_on(side)

    def pass_on(self, side: Side) -> None:
        """Pass on a side's thoughts, as it writes, or no other may before it; another side's are withdrawn."""
        if self._read not in (None, side):
            self._reply.forget_thoughts()
        self._read = side
        self._reply.think(self._waiting.pop(side, ""))
