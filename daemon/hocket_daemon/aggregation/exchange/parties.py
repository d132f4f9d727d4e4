"""The other parties of a session, as one of them sees them: who takes part, with which drafts, shares and intentions.

Who takes part in a step is decided before it is judged, and recorded: relative to that the tokens are those of one
process that holds all distributions (docs/aggregation.md, docs/group.md). Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..steering import Steering, bounds
from ..weights.likelihood_ratio import advantages
from ..weights.relevance import weighed_by
from .lookahead import MAX_LOOKAHEAD
from .sampler import etas
from .session_terms import Draft, SessionTerms, tokens_of

LEADER = ""  # the asked side, in tables by party: it is the first in their order, and mixed first
MAX_HELD = 4 * MAX_LOOKAHEAD  # steps beyond the confirmed ones; anybody's drafts lie within two windows


class Part(NamedTuple):
    """A party in a step, with its share η and its draft; None where that has not come."""

    name: str
    eta: float
    draft: Draft | None

    def of(self, token: int) -> float:
        """Return what the party gives to a token, as far as that is known."""
        return self.eta * self.draft.distribution.of(token) if self.draft is not None else 0.0


def _of_allowed(part: Part) -> Part:
    """Return a part of the mixture from which a grammar takes all but the allowed tokens M.

    p(v | M) is in proportion to 1[v in M] Σ η p(v), and a draft tells p(· | M) and kept = p(M): so η becomes η p(M).
    """
    if part.draft is None:
        return part
    return part._replace(eta=part.eta * tokens_of(part.draft.distribution).kept)


class _Weight(NamedTuple):
    """A party's log h for all steps that are weighed by the same `prefix` of the answer."""

    prefix: int
    log_h: float | None


@dataclass(slots=True)
class _Party:
    """The drafts, weight and progress that another party has sent since it was opened."""

    drafts: dict[int, Draft] = field(default_factory=dict)
    weight: _Weight | None = None  # of its latest draft that was weighed
    confirmed: tuple[int, int] | None = None  # how many tokens it had in its last message, and their digest
    most_confirmed: int = 0


class Parties:
    """The parties of a session beside the own one."""

    def __init__(self, own: str, terms: SessionTerms, present: Iterable[str]) -> None:
        """Begin; `own` is the name of the party that holds this table, `present` who takes part beside it."""
        self.present = frozenset(present)  # whose drafts the next step has or waits for
        self.steers: set[str] = set()  # who has steered the answer too far to go on with
        self.doubted: set[str] = set()  # who may have steered it, and takes part all the same
        self.likelihoods: dict[str, list[int]] = {}  # of the question's tokens, as each party's passages make them
        self._own = own
        self._order = tuple(sorted({own, *self.present}))
        self._terms = terms
        self._decides_early = terms.judges == "leader" or terms.by_coin  # by some of the drafts, if shares are known
        self._parties: defaultdict[str, _Party] = defaultdict(_Party)
        self._guards: dict[str, Steering] = {}
        self._advantages: dict[tuple[str, ...], dict[str, float]] = {}
        self._weighed: tuple[Draft, list[Part]] | None = None  # the latest own draft, until anything has come since

    def set_present(self, names: Iterable[str]) -> None:
        """Set who takes part from the next step on; the drafts of those who left are dropped."""
        present = frozenset(names)
        for name in self.present - present:
            self._parties[name].drafts.clear()
        self.present, self._weighed = present, None
        self._order = tuple(sorted({self._own, *present}))
        self.steers.clear()

    def add_draft(self, name: str, draft: Draft, confirmed: int) -> None:
        """Store a party's latest draft of every step that is not confirmed yet (R1); `confirmed` tokens are."""
        if confirmed <= draft.step < min(self._terms.max_tokens, confirmed + MAX_HELD):
            self._parties[name].drafts[draft.step] = draft
            self._weighed = None

    def add_confirmed(self, name: str, length: int, digest: int) -> None:
        """Note that a party has confirmed `length` tokens, of that `digest`."""
        party = self._parties[name]
        party.confirmed, party.most_confirmed = (length, digest), max(party.most_confirmed, length)

    def add_likelihoods(self, name: str, likelihoods: list[int]) -> None:
        """Store how likely a party's passages make the question's tokens."""
        self.forget_likelihoods(name)
        self.likelihoods[name] = likelihoods

    def forget_likelihoods(self, name: str) -> None:
        """Forget how likely a party's passages make the question's tokens: it may have begun anew."""
        self.likelihoods.pop(name, None)
        self._advantages.clear()
        self._weighed = None

    def forget(self, name: str) -> None:
        """Forget what a party has sent, as it begins anew."""
        self._parties.pop(name, None)
        self.forget_likelihoods(name)

    def confirmed_by(self, name: str) -> tuple[int, int] | None:
        """Return how many tokens a party had confirmed in its last message, and their digest."""
        return self._parties[name].confirmed

    def confirmed_by_all(self) -> int:
        """Return how many tokens everybody who takes part has confirmed at some time."""
        return min([self._parties[name].most_confirmed for name in self.present], default=0)

    def drop(self, step: int) -> None:
        """Drop all drafts of a step, which is confirmed."""
        for party in self._parties.values():
            party.drafts.pop(step, None)

    def draft_of(self, name: str, step: int, prefix: int) -> Draft | None:
        """Return a party's draft of a step, where it has come and is conditioned on `prefix`."""
        found = self._parties[name].drafts.get(step)
        return found if found is not None and found.prefix == prefix else None

    def lacking(self, step: int, prefix: int) -> set[str]:
        """Return who takes part, and whose draft of a step is missing."""
        return {name for name in self.present if self.draft_of(name, step, prefix) is None}

    def drafts(self, own: Draft) -> dict[str, Draft | None]:
        """Return the drafts of the own one's step by all who take part, the asked side's first."""
        step, prefix = own.step, own.prefix
        return {name: own if name == self._own else self.draft_of(name, step, prefix) for name in self._order}

    def log_h(self, step: int, drafts: Mapping[str, Draft | None]) -> dict[str, float | None]:
        """Return the log h of these parties at a step, as far as they are known.

        Who has passages gains by how well these explain the question.
        """
        known = {name: draft.log_h for name, draft in drafts.items() if draft is not None}
        if self._decides_early:
            known = self._as_known(step, drafts, known)
        if not self.likelihoods:
            return known
        more = self._advantages_of(tuple(name for name, log in known.items() if log is not None))
        return {name: None if log is None else log + more[name] for name, log in known.items()}

    def _as_known(
        self, step: int, drafts: Mapping[str, Draft | None], known: Mapping[str, float | None]
    ) -> dict[str, float | None]:
        """Return the log h that drafts of a step carry, and of who lacks one that of its last weighing, if it holds."""
        prefix, logs = self._weighed_by(step), dict[str, float | None]()
        for name in drafts:
            party = self._parties[name]
            if name in known:
                party.weight = _Weight(prefix, known[name])
            if party.weight is not None and party.weight.prefix == prefix:
                logs[name] = party.weight.log_h
        return logs

    def weighed(self, own: Draft) -> list[Part]:
        """Return all parties of the own draft's step, the asked side first; empty where any one's weight is unknown."""
        if self._weighed is None or self._weighed[0] is not own:
            self._weighed = own, self._weigh(own)
        return self._weighed[1]

    def _weigh(self, own: Draft) -> list[Part]:
        drafts = self.drafts(own)
        if not self._decides_early and None in drafts.values():
            return []
        logs = self.log_h(own.step, drafts)
        if len(logs) < len(drafts):
            return []
        shares = etas(list(logs.values()), self._terms.most_say if len(logs) > 2 else 1.0)
        parts = [Part(*each) for each in zip(drafts, shares, drafts.values(), strict=True)]
        return list(map(_of_allowed, parts)) if self._terms.is_constrained else parts

    def watch(self, own: Draft, token: int) -> bool:
        """Check everybody's part in a step's token; tell whether any has steered the answer too far to go on with."""
        guard = self._terms.guard
        if guard == "off":
            return False
        for name, draft in self.drafts(own).items():
            if draft is None or name == self._own:
                continue
            steering = self._guards.setdefault(name, Steering(bounds(guard)))
            if steering.add(tokens_of(own.distribution), tokens_of(draft.distribution), token):
                (self.steers if guard == "leaves" else self.doubted).add(name)
        return bool(self.steers)

    def has_pushed(self, name: str) -> bool:
        """Tell whether a party has pushed the answer so far that it must not see what comes without it."""
        return self._terms.guard == "leaves" and name in self._guards and self._guards[name].has_pushed

    def _weighed_by(self, step: int) -> int:
        every = self._terms.reweigh_every
        return 0 if every is None else weighed_by(step, every)

    def _advantages_of(self, names: tuple[str, ...]) -> dict[str, float]:
        """Return the nats that each of these parties gains by its passages; 0 unless known of all."""
        if names not in self._advantages:
            known = [self.likelihoods[name] for name in names if name in self.likelihoods]
            gains = advantages(known) if known and len(known) == len(names) else [0.0] * len(names)
            self._advantages[names] = dict(zip(names, gains, strict=True))
        return self._advantages[names]
