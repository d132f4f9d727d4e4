"""Passages as long as whoever reads them wants: a chunk with those around it, always cut at the same places.

Chunks are found, and windows are read: so that a short text is compared with a question, and a long one answers it
(small-to-big retrieval). A window is no more than the chunks of a document from a multiple of its size on, as far as
they have one place: a heading, a page or a row of a table ends it. It depends on no question, and what was computed of
it can be kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from ..stores.protocol import Moment
from ..stores.records import Chunk
from ..text.heads import headed


def size_of(words: int, chunk_words: int) -> int:
    """Return the number of chunks in a window of at most so many words; at least one."""
    return max(1, words // chunk_words)


def window(moment: Moment, document: str, ordinal: int, size: int) -> list[Chunk]:
    """The chunks of the window in which one stands; empty where that one is not here."""
    first = ordinal - ordinal % size
    group = moment.chunks_of(document, first, first + size)
    runs = (list(run) for _, run in groupby(group, lambda chunk: chunk.place))
    return next((run for run in runs if run[0].ordinal <= ordinal <= run[-1].ordinal), [])


def text_of(run: Sequence[Chunk]) -> str:
    """Return the text of a window as it is read."""
    return "\n".join(chunk.text for chunk in run)


def text_around(moment: Moment, chunk: Chunk, size: int) -> str:
    """The text of the window in which a chunk stands."""
    return chunk.text if size == 1 else text_of(window(moment, chunk.document, chunk.ordinal, size))


def following(moment: Moment, after: int, limit: int, size: int) -> list[tuple[int, str]]:
    """Return (first chunk's id, text as a model reads it) of windows after the chunk `after`; empty after the last."""
    found = list[tuple[int, str]]()
    while not found and (rows := moment.texts(after, limit)):
        for id, document, ordinal in moment.located(np.array([id for id, _ in rows])):
            run = window(moment, document, ordinal, size)
            if run and run[0].id == id:
                found.append((id, headed(run[0]._replace(text=text_of(run)))))
        after = rows[-1][0]
    return found
