"""What the sides think before they write: the reader gets one side's, whole and in order."""

from __future__ import annotations

from hocket_bus.messages import MAX_REASONING_CHARS, Side

from ...serving.stream.reply import Reply


class Thoughts:
    """A side that nobody may outrun is read at once, any other with its first token, if that is the answer's first."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._waiting: dict[Side, str] = {}
        self._read: Side | None = None  # whose were passed on

    def add(self, side: Side, text: str, *, is_alone: bool) -> None:
        """A part of a side's; where it `is_alone`, the reader gets it now."""
        self._waiting[side] = (self._waiting.get(side, "") + text)[:MAX_REASONING_CHARS]
        if is_alone:
            self.pass_on(side)

    def pass_on(self, side: Side) -> None:
        """It writes, or nobody else may before it. Whatever another one thought is no part of the answer's thoughts."""
        if self._read not in (None, side):
            self._reply.forget_thoughts()
        self._read = side
        self._reply.think(self._waiting.pop(side, ""))
