"""The tokens that greedily follow a window, and what of them is suggested."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hocket_retrieval.chunking import sentences

from .pieces import HALF, Pieces
from .window import Window

_LINE = re.compile(r"[\r\n]")


@dataclass(frozen=True, slots=True)
class Path:
    """`tokens` follow the window: its typed letters first, then what the model would go on with; `ended` by its end.

    Law: greedy decoding bound to letters that go on along the path gives its tokens, too: whatever fits the longer
    letters fits the shorter ones, so the likeliest of more is the likeliest of fewer that it is among.
    """

    window: Window
    tokens: tuple[int, ...] = ()
    ended: bool = False

    def text(self, pieces: Pieces) -> str:
        """What the tokens add to the window's text."""
        return pieces.text(self.tokens)

    def spelling(self, pieces: Pieces) -> int:
        """How many of the tokens spell nothing but typed letters."""
        length = 0
        for count, token in enumerate(self.tokens):
            length += len(pieces.of(token))
            if length > len(self.window.typed):
                return count
        return len(self.tokens)

    def along(self, window: Window, pieces: Pieces) -> Path | None:
        """The same path from a window further on; None where that does not lie on it, or is tokenised otherwise."""
        written = window.text.removeprefix(self.window.text)
        if len(self.window.text) + len(written) != len(window.text):
            return None
        count = len(window.ids) - len(self.window.ids)
        if not 0 <= count <= len(self.tokens) or window.ids != [*self.window.ids, *self.tokens[:count]]:
            return None
        if len(written) + len(window.typed) < len(self.window.typed):
            return None
        rest = Path(window, self.tokens[count:], self.ended)
        return rest if rest.tokens and rest.text(pieces).startswith(window.typed) else None

    def suggested(self, pieces: Pieces, most: int) -> str | None:
        """To the end of the line or sentence, or `most` tokens beyond typed letters; None while that is not known."""
        length = self.spelling(pieces) + most
        text = pieces.text(self.tokens[:length])[len(self.window.typed) :].rstrip(HALF)
        border = _border(text)
        if border is not None:
            return text[:border]
        return text if self.ended or len(self.tokens) >= length else None


def _border(text: str) -> int | None:
    """Where the first line or sentence ends for certain: something follows it."""
    line = _LINE.search(text)
    ends = [] if line is None else [line.start()]
    ends += [end for _, end in sentences(text) if text[:end].strip() and text[end:].strip()]
    return min(ends, default=None)


def without_repeat(suggestion: str, behind: str) -> str:
    """A suggestion up to where it begins to repeat the text behind the cursor."""
    behind = behind.lstrip()
    starts = (match.start() for match in re.finditer(r"(?<!\S)\S|(?<=\w)(?=\W)", suggestion))
    repeated = (at for at in starts if (part := suggestion[at:].strip()) and behind.startswith(part))
    return suggestion[: next(repeated, len(suggestion))].rstrip(" ") if behind else suggestion
