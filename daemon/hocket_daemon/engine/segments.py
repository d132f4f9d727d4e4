"""The tokens that a forward pass appends to rows, and the division of prompts into passes of a bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Segment(NamedTuple):
    """Tokens to append: `tokens[i]`, at least one, to row `rows[i]`. No row occurs in it twice.

    The distribution is wanted after each row's last token, or after `every` token. `given[i]` are ids, at most as many
    as tokens, whose probabilities are wanted: the n-th after the n-th token of row i.
    """

    rows: list[int]
    tokens: list[list[int]]
    every: bool = False
    given: Sequence[list[int]] = ()

    def each(self) -> Iterator[tuple[int, list[int], list[int]]]:
        """Yield every row, the tokens appended to it, and the ids whose probabilities are wanted."""
        return zip(self.rows, self.tokens, self.given or [[]] * len(self.rows), strict=True)


NOTHING = Segment([], [])


class Contents(NamedTuple):
    """The ends of a row's parts: the layout's lead, a passage, earlier turns, the question; the rest is the answer.

    `session` is the session that the row belongs to, for the ledger where it leaves this machine.
    """

    lead: int
    passage: int
    turns: int
    question: int
    session: bytes


def in_passes(
    rows: Sequence[int], tokens: Sequence[list[int]], max_tokens: int, given: Sequence[list[int]] = ()
) -> Iterator[Segment]:
    """Yield the forward passes that append `tokens[i]` to row i, in order, with at most `max_tokens` tokens a pass."""
    segment, room = Segment([], [], given=[]), max_tokens
    for row, ids, following in zip(rows, tokens, given or [[]] * len(rows), strict=True):
        at = 0
        while at < len(ids):
            end = at + room
            segment.rows.append(row)
            segment.tokens.append(ids[at:end])
            segment.given.append(following[at:end])  # type: ignore[attr-defined]
            at, room = at + len(segment.tokens[-1]), room - len(segment.tokens[-1])
            if room == 0:
                yield segment
                segment, room = Segment([], [], given=[]), max_tokens
    if segment.rows:
        yield segment


class Wanted(NamedTuple):
    """The results wanted of a pass: `places` are the tokens, counted over all segments, after which one is wanted.

    For each segment, `heads` are the indices in `places` of its distributions, and `given` the index and the id of each
    probability.
    """

    places: list[int]
    heads: list[list[int]]
    given: list[list[tuple[int, int]]]


def wanted(segments: Sequence[Segment]) -> Wanted:
    """Collect the results that `segments` want of one pass."""
    found, start = Wanted([], [], []), 0
    for segment in segments:
        heads, given = list[int](), list[tuple[int, int]]()
        for _, ids, named in segment.each():
            first = 0 if segment.every or named else len(ids) - 1
            base = len(found.places) - first
            found.places.extend(range(start + first, start + len(ids)))
            heads += range(base if segment.every else base + len(ids) - 1, base + len(ids))
            given += [(base + at, token) for at, token in enumerate(named)]
            start += len(ids)
        found.heads.append(heads)
        found.given.append(given)
    return found
