"""What a forward pass appends to rows, and prompts cut into passes of a bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple


class Segment(NamedTuple):
    """Tokens to append: `tokens[i]`, at least one, to row `rows[i]`. No row stands in it twice.

    What follows is wanted behind each row's last token, or behind `every` token.
    """

    rows: list[int]
    tokens: list[list[int]]
    every: bool = False


NOTHING = Segment([], [])


def in_passes(
    rows: Sequence[int], tokens: Sequence[list[int]], max_tokens: int, *, every: bool = False
) -> Iterator[Segment]:
    """Append `tokens[i]` to row i in passes of at most `max_tokens` tokens, one row after the other."""
    segment, room = Segment([], [], every), max_tokens
    for row, ids in zip(rows, tokens, strict=True):
        at = 0
        while at < len(ids):
            part = ids[at : at + room]
            segment.rows.append(row)
            segment.tokens.append(part)
            at, room = at + len(part), room - len(part)
            if room == 0:
                yield segment
                segment, room = Segment([], [], every), max_tokens
    if segment.rows:
        yield segment


def wanted(segments: Sequence[Segment]) -> tuple[list[int], list[int]]:
    """Behind which tokens, counted over all of `segments` in a line, something is wanted; and how many of each."""
    widths = [(len(ids), segment.every) for segment in segments for ids in segment.tokens]
    ends = accumulate(width for width, _ in widths)
    places = [range(end - (width if every else 1), end) for end, (width, every) in zip(ends, widths, strict=True)]
    counts = [sum(map(len, segment.tokens)) if segment.every else len(segment.rows) for segment in segments]
    return [at for each in places for at in each], counts
