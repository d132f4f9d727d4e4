"""A side's distribution, held within b bits of what the question alone gives.

Let a be what would be sent had no passage been read, on its ids, and p what the side says there. What is sent is the
law on the same ids that is nearest to p, of those with |log2 q(x) / a(x)| <= b for every x:

    q(x) = clip(c p(x), 2^-b a(x), 2^b a(x)),  Σ q(x) = 1.

Both are positive on finitely many ids, so f(c) = Σ clip(c p, 2^-b a, 2^b a) is continuous and never falls, from 2^-b at
c = 0 to 2^b where all is clipped: some c has f(c) = 1. Where two have, each summand is the same for both, as none of
them falls: q is unique. It minimises KL(q ‖ p) within the bounds (c is its multiplier), which is strictly convex, and
the bounds move continuously with b, so q does (Berge's maximum theorem). b = 0 gives a; where p is within the bounds
it is q. What travels are integers; they are rounded within the bounds, which a's own integers fulfil.

Theorem. A reader sees tokens, each drawn from q as it is after the tokens before it, and knows nothing of the
noise. Then a token moves the odds between "these passages were read" and "none was" by at most b bits, since q / a is
all that it changes them by; n tokens move them by at most n b. For one document of several let q' be what is sent
without it. A token x moves its odds by |log2 q(x) / q'(x)|, which is never above 2 b, as q and q' are both within b of
a. So over an answer, and over all answers, they move by no more than the sum of these. What a token is expected to tell
of the document, KL(q ‖ q'), is a mean of log2 q / q' and no more than its maximum. In a mixture with laws that know
nothing of the document a token moves them no more, if the weights of the mixture know nothing of it.

A row's weight is no part of such a bound: two passages whose rows differ, and whose mixture is a, have q = a, and yet
each alone would be seen.

What the theorem does not say:

- Who sees the whole of q, as a leader does, is not bounded by it: its numbers can say far more than a token.
- Nor who knows seed and step: given the noise a token is a function of q, and one that a would not have given is proof.
- At temperature t a token moves the odds by up to twice that maximum, over t. Greedy answers and top-p have no bound.
- Weights between members (log h), times, and that a member takes part at all, are no part of q.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .distribution import MAX_COUNT, Distribution
from .heads import Contrast, Heads, Made, Probabilities, contrasted, made

_LEAST = 1e-12  # of what the question alone gives: so much a row says at least of an id that it leaves out

Counts = NDArray[np.int64]
Law = NDArray[np.float64]


class Bounded(NamedTuple):
    """The distribution to send; the one without any passage; and for each document log2 q / q' by the ids of both."""

    made: Made
    alone: Distribution
    ratios: dict[str, Law]

    def most(self) -> dict[str, float]:
        """Return the most bits by which a token moves the odds of each document."""
        return {document: float(np.abs(ratios).max()) for document, ratios in self.ratios.items()}

    def moved(self, token: int) -> dict[str, float]:
        """Return the bits by which this token moves the odds of each document; 0 where it is not named here."""
        at = self.alone.place(token)
        return {name: 0.0 if at is None else abs(float(ratios[at])) for name, ratios in self.ratios.items()}


def bounded(
    heads: Heads,
    weights: list[float],
    documents: Sequence[str],
    *,
    wire_mass: float,
    bits: float,
    contrast: Contrast | None = None,
) -> Bounded:
    """Mix the rows' heads as `made` does, within `bits` (0 to 64) of the last row, which read the question alone.

    Each row before it is a passage's and has a weight and its document's name; there may be none. What is sent names
    the ids that the last row would send, and `kept` is its own, too: others could together have 2^bits of what it
    leaves out at most.
    """
    alone = made(heads.at(len(heads) - 1), [], wire_mass)
    if not documents:
        return Bounded(alone, alone.distribution, {})
    ids, counts = alone.distribution.ids, alone.distribution.counts
    rows = _rows(heads, alone.distribution, contrast) * np.array(weights)[:, None]
    sent = _within(rows.sum(axis=0), counts, bits)
    ratios = {}
    for document in dict.fromkeys(documents):
        others = rows[[name != document for name in documents]]
        ratios[document] = np.log2(sent / (_within(others.sum(axis=0), counts, bits) if len(others) else counts))
    return Bounded(Made(Distribution(ids, sent, alone.distribution.kept), rows), alone.distribution, ratios)


def _rows(heads: Heads, alone: Distribution, contrast: Contrast | None) -> Law:
    """Return the passages' probabilities [passages, ids of `alone`], all positive."""
    ids, rows = heads.aligned()
    passages: Probabilities = rows[:-1]
    if contrast is not None:
        passages = contrasted(ids, passages, rows[-1], contrast)
    places = alone.ids if ids is None else ids.searchsorted(alone.ids)
    return np.maximum(passages[:, places].astype(np.float64), _LEAST * alone.probabilities)


def _within(law: Law, alone: Counts, bits: float) -> Counts:
    """Counts of the sum of `alone` that are nearest to `law` [ids], whatever its sum, within `bits` of `alone`."""
    least, most = np.ceil(alone * 2.0**-bits), np.minimum(np.floor(alone * 2.0**bits), MAX_COUNT)
    return _rounded(_clipped(law, least, most, float(alone.sum())), int(alone.sum()))


def _clipped(law: Law, least: Law, most: Law, total: float) -> Law:
    """Return clip(c · law, least, most) with the sum `total`, between theirs: linear in c between breakpoints."""
    breaks = np.sort(np.concatenate((least / law, most / law)))

    def clipped(c: float) -> Law:
        return np.clip(c * law, least, most)

    def summed(c: float) -> float:
        return float(clipped(c).sum())

    at = min(max(bisect_right(breaks, total, key=summed), 1), len(breaks) - 1)
    low, high = float(breaks[at - 1]), float(breaks[at])
    below, above = summed(low), summed(high)
    part = (total - below) / (above - below) if above > below else 0.0
    return clipped(low + min(max(part, 0.0), 1.0) * (high - low))


def _rounded(wanted: Law, total: int) -> Counts:
    """Integers of the sum `total`, by largest remainders: within bounds that are integers, as `wanted` is."""
    counts = np.floor(wanted)
    counts[np.argsort(counts - wanted, kind="stable")[: total - int(counts.sum())]] += 1
    return counts.astype(np.int64)
