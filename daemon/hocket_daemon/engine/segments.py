"""What a forward pass appends to rows, and prompts cut into passes of a bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Segment(NamedTuple):
    """Tokens to append: `tokens[i]`, at least one, to row `rows[i]`. No row stands in it twice."""

    rows: list[int]
    tokens: list[list[int]]


NOTHING = Segment([], [])


def in_passes(rows: Sequence[int], tokens: Sequence[list[int]], max_tokens: int) -> Iterator[Segment]:
    """Append `tokens[i]` to row i in passes of at most `max_tokens` tokens, one row after the other."""
    segment, room = Segment([], []), max_tokens
    for row, ids in zip(rows, tokens, strict=True):
        at = 0
        while at < len(ids):
            part = ids[at : at + room]
            segment.rows.append(row)
            segment.tokens.append(part)
            at, room = at + len(part), room - len(part)
            if room == 0:
                yield segment
                segment, room = Segment([], []), max_tokens
    if segment.rows:
        yield segment
