"""The draft exchange of a session with any number of members, as the asked device sees it, which aggregates alone.

Every member drafts ahead from its own documents and takes the device's tokens. Who takes part in a step is decided here
alone, before it is judged, and recorded: relative to that the tokens are those of one process that holds all
distributions (docs/group.md). Where a member's draft cannot change the token, it is not waited for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from hocket_bus.messages import Source

from ...engine.sampling.drawing import draw
from ...engine.sampling.ranking import UNRANKED, ranking
from ...serving.records.sources import Trace
from ..exchange.exchange import MAX_HELD, Confirmed, Draft, Exchange, SessionTerms
from ..exchange.sampler import etas, foregone, mixture
from ..steering import Steering, bounds
from ..weights.likelihood_ratio import advantages
from ..weights.relevance import weighed_by

LEADER = ""  # the asked device, in tables by party


class _Weight(NamedTuple):
    """A member's log h for all steps that are weighed by the same `prefix` of the answer."""

    prefix: int
    log_h: float | None


class _Part(NamedTuple):
    """A party in a step, with its share η and its draft; None where that has not come."""

    name: str
    eta: float
    draft: Draft | None

    def of(self, token: int) -> float:
        """Return what the party gives to a token, as far as that is known."""
        return self.eta * self.draft.distribution.of(token) if self.draft is not None else 0.0


class GroupExchange(Exchange):
    """The asked device's half of the exchange with all members."""

    def __init__(self, terms: SessionTerms, most_say: float, reweigh_every: int | None = None) -> None:
        """Begin; `most_say`, in (0, 1], bounds the share of any one of several members; one alone is as in a pair.

        Members are weighed again every `reweigh_every` steps; None: never.
        """
        super().__init__("device", replace(terms, shares_drafts=False))
        self.present: set[str] = set()  # whose drafts the next step has or waits for
        self.doubted: set[str] = set()  # who may have steered the answer, which goes on with them
        self.expelled: set[str] = set()  # who has steered it too far to go on with
        self.roster: list[tuple[str, ...]] = []  # who took part, by step
        self.parts: list[dict[str, float]] = []  # of each member in the probability of the token, by step
        self.accepted: list[frozenset[str]] = []  # whose draft the token was, by step
        self._most_say = most_say
        self._reweigh_every = reweigh_every
        self._weights: dict[str, _Weight] = {}  # of each member's latest draft that was judged
        self._drafts: dict[str, dict[int, Draft]] = {}
        self._likelihoods: dict[str, list[int]] = {}  # of the question's tokens, as each party's passages make them
        self._guards: dict[str, Steering] = {}

    def add_draft(self, name: str, draft: Draft) -> None:
        """Store a member's latest draft of every step that is not confirmed yet (R1)."""
        if len(self.confirmed) <= draft.step < min(self._terms.max_tokens, len(self.confirmed) + MAX_HELD):
            self._drafts.setdefault(name, {})[draft.step] = draft

    def add_likelihoods(self, name: str, likelihoods: list[int]) -> None:
        """Store how likely a party's passages make the question's tokens."""
        self._likelihoods[name] = likelihoods

    def forget(self, name: str) -> None:
        """Forget what a member has sent, as it begins anew."""
        self._drafts.pop(name, None)
        self._likelihoods.pop(name, None)
        self._weights.pop(name, None)

    def lacking(self) -> set[str]:
        """Return the members whose draft of the next step is missing while the own one is there."""
        step = len(self.confirmed)
        if self.ended or self._valid(self._own, step) is None:
            return set()
        return {name for name in self.present if self._draft_of(name, step) is None}

    def advance(self) -> list[Confirmed]:
        """Confirm every step that the drafts of all parties decide; a member that steers is left out from then on."""
        news = super().advance()
        while self.steered:
            self.steered = False
            news += super().advance()
        return news

    def _judge(self, step: int) -> Confirmed | None:
        own = self._valid(self._own, step)
        if own is None:
            return None
        if not self.present:
            return Confirmed(step, own.token, "solo", own=True, remote=False)
        self._note_weights(step)
        parts = self._weighed(step, own)
        token = self._token(step, parts) if parts else None
        if token is None:
            return None
        drafted = _drafted(parts, token)
        return Confirmed(step, token, _source(drafted), own=LEADER in drafted, remote=bool(drafted - {LEADER}))

    def _token(self, step: int, parts: list[_Part]) -> int | None:
        """Return the token of a step; None where it, or its law if asked for, depends on drafts that have not come."""
        unknown = sum(part.eta for part in parts if part.draft is None)
        law = mixture([(part.eta, part.draft.distribution) for part in parts if part.draft is not None])
        if not unknown:
            return draw(self._terms.rule, step, *law)
        return foregone(self._terms.rule, *law, unknown) if self._terms.logprobs is None else None

    def _note_weights(self, step: int) -> None:
        """Store the members' weights that the drafts of a step carry."""
        for name in self.present:
            draft = self._draft_of(name, step)
            if draft is not None:
                self._weights[name] = _Weight(self._weighed_by(step), draft.log_h)

    def _weighed(self, step: int, own: Draft) -> list[_Part]:
        """Return all parties of a step, the asked device first; empty where the weight of any is not known."""
        drafts = {name: self._draft_of(name, step) for name in sorted(self.present)}
        prefix, weights = self._weighed_by(step), [self._weights.get(name) for name in drafts]
        known = [weight.log_h for weight in weights if weight is not None and weight.prefix == prefix]
        if len(known) < len(drafts):
            return []
        log_h = dict(zip([LEADER, *drafts], [own.log_h, *known], strict=True))
        more = self._advantages([name for name, log in log_h.items() if log is not None])
        logs = [None if log is None else log + more[name] for name, log in log_h.items()]
        shares = etas(logs, self._most_say if len(logs) > 2 else 1.0)
        return [_Part(*each) for each in zip(log_h, shares, [own, *drafts.values()], strict=True)]

    def _draft_of(self, name: str, step: int) -> Draft | None:
        return self._valid(self._drafts.get(name, {}), step)

    def _weighed_by(self, step: int) -> int:
        return 0 if self._reweigh_every is None else weighed_by(step, self._reweigh_every)

    def _advantages(self, names: Iterable[str]) -> dict[str, float]:
        """Return the nats that each party gains by how well its passages explain the question; 0 unless known of all.

        `names` are the parties that have passages.
        """
        known = {name: self._likelihoods.get(name) for name in names}
        told = [logs for logs in known.values() if logs is not None]
        if len(told) < len(known) or not told:
            return dict.fromkeys(known, 0.0)
        return dict(zip(known, advantages(told), strict=True))

    def _watch(self, confirmed: Confirmed) -> bool:
        """Check every member's part in a step; tell whether any has steered it too far to go on with."""
        own = self._valid(self._own, confirmed.step)
        if self._terms.guard == "off" or own is None:
            return False
        for name in sorted(self.present):
            guard = self._guards.setdefault(name, Steering(bounds(self._terms.guard)))
            draft = self._draft_of(name, confirmed.step)
            if draft is not None and guard.add(own.distribution, draft.distribution, confirmed.token):
                (self.expelled if self._terms.guard == "leaves" else self.doubted).add(name)
        steers = self.present & self.expelled
        self.present -= steers
        return bool(steers)

    def _trace(self, confirmed: Confirmed) -> Trace:
        own = self._valid(self._own, confirmed.step)
        assert own is not None
        weighed = self._weighed(confirmed.step, own)
        had = {part.name: part.of(confirmed.token) for part in weighed}
        total = sum(had.values())
        parts = {name: part / total if total > 0 else 0.0 for name, part in had.items()}
        self.roster.append(tuple(sorted(self.present)))
        self.accepted.append(frozenset(_drafted(weighed, confirmed.token)))
        ranks = UNRANKED
        if self._terms.logprobs is not None:
            law = mixture([(part.eta, part.draft.distribution) for part in weighed if part.draft is not None])
            ranks = ranking(*law, confirmed.token, self._terms.logprobs)
        trace = Trace(parts.pop(LEADER), self._rows(own, confirmed), ranks)
        self.parts.append(parts)
        return trace

    def _confirm(self, token: int) -> None:
        for drafts in self._drafts.values():
            drafts.pop(len(self.confirmed), None)
        super()._confirm(token)

    def _forget(self) -> None:
        """Forget own drafts of confirmed steps: they are sent to nobody."""
        for step in [step for step in self._own if step < len(self.confirmed)]:
            del self._own[step]


def _drafted(parts: Iterable[_Part], token: int) -> set[str]:
    """Return the parties whose draft the token was."""
    return {part.name for part in parts if part.draft is not None and part.draft.token == token}


def _source(drafted: set[str]) -> Source:
    """Return who proposed a token, as between two sides, where all members are the other one."""
    if not drafted:
        return "resampled"
    if drafted == {LEADER}:
        return "device"
    return "both" if LEADER in drafted else "cloud"
