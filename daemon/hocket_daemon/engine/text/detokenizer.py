"""Token ids to text as they come: never half a character, nothing from a stop string on, and one rule for the end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from hocket_bus.messages import Finish

MAX_CHARACTERS = 200_000  # of a text, so that it fits into one message
_HALF = "\ufffd"


class Emitter:
    """Text up to the first stop string, piece by piece: what may become one is held back until it does or does not."""

    def __init__(self, stop: Sequence[str] = (), *, strip: bool = False) -> None:
        """Begin an empty text; `strip` leaves out the blanks before the first word, which are the layout's."""
        self.text = ""
        self.stopped = False
        self._strip = strip
        self._stop = tuple(stop)
        self._held = ""

    def add(self, piece: str) -> str:
        """Add a piece and return the text that is now sure; nothing is to be added once it has stopped."""
        self._held += piece.lstrip() if self._strip and not self.text + self._held else piece
        found = [at for at in (self._held.find(stop) for stop in self._stop) if at >= 0]
        if found:
            self.stopped = True
            ready, self._held = self._held[: min(found)], ""
        else:
            keep = max((_overlap(self._held, stop) for stop in self._stop), default=0)
            cut = len(self._held) - keep
            ready, self._held = self._held[:cut], self._held[cut:]
        self.text += ready
        return ready

    def finish(self) -> str:
        """Return what was held back for a stop string that never came."""
        held, self._held = self._held, ""
        self.text += held
        return held


class Detokenizer:
    """A detokenizer that emits the text each token makes readable; the pieces joined are the decoded text."""

    def __init__(self, decode: Callable[[list[int]], str], stop: Sequence[str] = (), *, strip: bool = False) -> None:
        """Begin an empty text; `stop` and `strip` are the Emitter's."""
        self._decode = decode
        self._emitter = Emitter(stop, strip=strip)
        self._ids: list[int] = []
        self._context = 0  # first id that still influences how the next ids read
        self._read = 0  # ids before this one are already in the text

    @property
    def text(self) -> str:
        """The text so far, all pieces joined."""
        return self._emitter.text

    @property
    def stopped(self) -> bool:
        """Tell whether a stop string has ended the text."""
        return self._emitter.stopped

    def add(self, token: int) -> str:
        """The text that `token` makes readable; empty inside a character or a possible stop string."""
        self._ids.append(token)
        unread = self._unread()
        if not unread or unread.endswith(_HALF):
            return ""
        self._context, self._read = self._read, len(self._ids)
        return self._emitter.add(unread)

    def finish(self) -> str:
        """Return what was held back for the rest of a character or for a stop string that never came."""
        return self._emitter.add(self._unread().rstrip(_HALF)) + self._emitter.finish()

    def _unread(self) -> str:
        before = self._decode(self._ids[self._context : self._read])
        return self._decode(self._ids[self._context :])[len(before) :]


class Transcript:
    """A text as its tokens are drawn, and where it ends."""

    def __init__(self, detokenizer: Detokenizer, eos: Collection[int], max_tokens: int) -> None:
        """Begin an empty text; it ends with an id of `eos`, a stop string, or at the latest after `max_tokens`."""
        self.max_tokens = max_tokens
        self.ids: list[int] = []
        self.finish: Finish | None = None  # why it ended
        self._detokenizer = detokenizer
        self._eos = eos

    @property
    def text(self) -> str:
        """The text so far, all pieces joined."""
        return self._detokenizer.text

    def add(self, token: int) -> str:
        """Add a token and return the text that it completes; the last one completes what was held back, too."""
        assert self.finish is None, "nothing comes behind the end"
        self.ids.append(token)
        ended = token in self._eos
        piece = "" if ended else self._detokenizer.add(token)
        is_last = len(self.ids) == self.max_tokens or len(self.text) > MAX_CHARACTERS
        if ended or (is_last and not self._detokenizer.stopped):
            piece += self._detokenizer.finish()
        self.finish = "eos" if ended else "stop" if self._detokenizer.stopped else "length" if is_last else None
        return piece


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that is a beginning of `stop`."""
    return next((n for n in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:n])), 0)
