"""The draft exchange of a session of words: a draft is a word with its probability, and so is the target.

At a temperature above 0 a public coin names the party that speaks, by the shares η, and its word is the target. Let P_i
be the law by which party i draws its word after the answer so far. The coin and the parties' noise are independent, so
a word is the target with probability Σ η_i P_i, whoever drafts what, and whether anybody else drafts at all.
At temperature 0 the target is the likeliest proposal: of all drafts the word w with the largest Σ η_i P_i(w) over the
parties that propose it. Both are functions of the drafts, the shares and the seed alone, in integers.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ...engine.sampling.distribution import Distribution
from ...engine.sampling.drawing import coin
from ...engine.sampling.heads import Table
from ...engine.sampling.ranking import UNRANKED, Ranking
from ...engine.text.word_draw import SCALE, Proposal
from ...serving.records.sources import Trace
from .exchange import Exchange
from .parties import Part
from .sampler import ETA_STEPS
from .session_terms import Confirmed, Draft, Law


class WordExchange(Exchange):
    """The part of the draft exchange that one party of a session of words holds."""

    def concedes(self, step: int, prefix: int, bound: Proposal, log_h: float | None) -> bool:
        """Tell whether an own word whose probability is at most the `bound`'s cannot be the target of the next step.

        Between two sides at temperature 0: the other's proposal wins over any such word, or is that word.
        """
        awaited = self.confirmed.digest == prefix and self._terms.judges == "both" and not self.solo
        if not awaited or self._terms.rule.temperature > 0:
            return False
        own = Draft(step, prefix, bound.word, bound, log_h, 0.0)
        parts = self.parties.weighed(own)
        return bool(parts) and likeliest(parts) != bound.word

    def _draw(self, step: int, law: Law) -> int:  # noqa: ARG002 - it has been drawn
        return proposal_of(law).word

    def _token(self, step: int, parts: list[Part]) -> int | None:
        if not parts:
            return None
        if self._terms.by_coin:
            draft = speaker(self._terms.rule.seed, step, parts).draft
            return None if draft is None else draft.token
        return likeliest(parts)

    def _trace(self, confirmed: Confirmed) -> Trace:
        own = self._own_draft(confirmed.step)
        parts = self.parties.weighed(own) if own is not None and self._terms.by_coin else []
        if not parts:
            return super()._trace(confirmed)
        name = speaker(self._terms.rule.seed, confirmed.step, parts).name
        others = {part.name: float(part.name == name) for part in parts}
        part = others.pop(self._name)
        return Trace(part, self._rows_of(own, confirmed), others=others, drafted=confirmed.drafted)

    def _rows_of(self, own: Draft | None, confirmed: Confirmed) -> Table | None:
        rows = self._rows.get(confirmed.step)
        if own is None or rows is None or own.token != confirmed.token:
            return None
        return np.asarray(rows[:, 0], np.float64)

    def _watch(self, confirmed: Confirmed) -> bool:  # noqa: ARG002 - of another's word this side's law is not known
        return False

    def _ranking(self, token: int, weighed: list[Part]) -> Ranking:  # noqa: ARG002 - of tokens alone
        return UNRANKED


def speaker(seed: int, step: int, parts: list[Part]) -> Part:
    """Return the party that the coin of a step names."""
    left = coin(seed, step, ETA_STEPS)
    for part in parts:
        left -= round(part.eta * ETA_STEPS)
        if left < 0:
            return part
    raise AssertionError("shares sum to 1")


def likeliest(parts: list[Part]) -> int | None:
    """Return the word with the largest Σ η P; None where a draft that has not come could still change it.

    Of equals the first party's comes first. Of a missing draft no probability is above 1.
    """
    sums = defaultdict[int, int](int)
    unknown = 0
    for part in parts:
        share = round(part.eta * ETA_STEPS)
        if part.draft is None:
            unknown += share * SCALE
        else:
            sums[part.draft.token] += share * proposal_of(part.draft.distribution).count
    if not sums:
        return None
    best = max(sums, key=sums.__getitem__)
    second = max((value for word, value in sums.items() if word != best), default=0)
    return best if not unknown or sums[best] > second + unknown else None


def proposal_of(law: Law) -> Proposal:
    """Return a party's law of a step in a session of words."""
    assert not isinstance(law, Distribution)
    return law
