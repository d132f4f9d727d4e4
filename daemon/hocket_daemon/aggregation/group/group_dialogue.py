"""The asked device's dialogue with all members of a session: their messages in, confirmed tokens and Targets out.

Each member has an epoch of its own, which begins with every opening. Pure: no sockets, no models, no clocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket_bus import messages as wire
from hocket_bus.messages import Begin, Sources, Sync, Target

from ...engine.sampling.distribution import Distribution
from ...engine.sampling.drawing import Rule
from ...engine.sampling.heads import Probabilities
from ...serving.records.sources import PeerSources, peer_sources
from ..dialogue import DraftReader, Effects
from ..exchange.exchange import SessionTerms
from ..steering import Guard
from ..weights.likelihood_ratio import steps_of
from ..weights.relevance import REWEIGHED
from .group_exchange import LEADER, GroupExchange


@dataclass(slots=True)
class _Talk:
    """The dialogue with one member: its epoch, the tokens confirmed in its last message, and what it has sent."""

    epoch: int
    confirmed: int = 0
    digest: int | None = None
    told: bool = False  # how likely its passages make the question's tokens
    drafts: int = 0


class GroupDialogue:
    """The state that the asked device keeps of its dialogue with all members."""

    def __init__(self, begin: Begin, *, guard: Guard, most_say: float, vocabulary: int) -> None:
        sampling = begin.sampling
        rule = Rule(sampling.seed, sampling.temperature, sampling.top_p)
        terms = SessionTerms(
            begin.session,
            rule,
            begin.method,
            frozenset(begin.eos),
            sampling.max_tokens,
            guard=guard,
            logprobs=sampling.logprobs,
        )
        self.exchange = GroupExchange(terms, most_say, begin.reweigh_every if begin.weights in REWEIGHED else None)
        self._session = begin.session
        self._reader = DraftReader(begin, vocabulary)
        self._talks: dict[str, _Talk] = {}

    @property
    def remote_drafts(self) -> int:
        """The number of drafts that have come from all members."""
        return sum(talk.drafts for talk in self._talks.values())

    def drafts_of(self, name: str) -> int:
        """Return the number of drafts that have come from one member."""
        talk = self._talks.get(name)
        return talk.drafts if talk is not None else 0

    def epoch_of(self, name: str) -> int:
        """Return the member's epoch."""
        return self._talks[name].epoch

    def open(self, name: str) -> list[wire.Message]:
        """Begin a member's next epoch; return what to send after its opening, so that it has the answer so far."""
        known = self._talks.get(name)
        talk = self._talks[name] = _Talk(0 if known is None else known.epoch + 1, drafts=known.drafts if known else 0)
        self.exchange.forget(name)
        confirmed = self.exchange.confirmed
        if not talk.epoch and not len(confirmed):
            return []
        at = Sync(session=self._session, epoch=talk.epoch, confirmed=len(confirmed), digest=confirmed.digest)
        return [at, self.word(name, 0)]

    def word(self, name: str, first: int, end: int | None = None) -> Target:
        """Return a Target for a member: the tokens from `first` on, up to `end`, or to the last."""
        confirmed = self.exchange.confirmed
        length = len(confirmed) if end is None else end
        return Target(
            session=self._session,
            epoch=self._talks[name].epoch,
            first=first,
            ids=confirmed.ids[first:length],
            digest=confirmed.at(length),
        )

    def settled(self, name: str) -> int:
        """Return how many of the confirmed tokens the member had, too, in its last message."""
        talk, chain = self._talks[name], self.exchange.confirmed
        return talk.confirmed if talk.confirmed <= len(chain) and chain.at(talk.confirmed) == talk.digest else 0

    def is_current(self, name: str, message: wire.Draft | Sync) -> bool:
        """Tell whether a message is of the member's current epoch."""
        return name in self._talks and message.epoch == self._talks[name].epoch

    def add_likelihoods(self, logs: NDArray[np.float64]) -> None:
        """Add how likely the own passages make the question's tokens, [tokens], before the first own draft."""
        self.exchange.add_likelihoods(LEADER, steps_of(logs))

    def own(
        self,
        step: int,
        prefix: int,
        distribution: Distribution,
        log_h: float | None,
        decode_s: float,
        *,
        parts: Probabilities | None = None,
    ) -> Effects:
        """Take the own distribution of `step` after `prefix`; nothing follows when that no longer holds."""
        self.exchange.add_own(step, prefix, distribution, log_h, decode_s, parts=parts)
        return self.advance()

    def draft(self, name: str, message: wire.Draft) -> Effects:
        """Take a draft of the member's epoch. Raises BadMessage and BadRequest for one that cannot be used."""
        talk, draft = self._talks[name], self._reader.draft(message)
        talk.confirmed, talk.digest = message.confirmed, message.digest
        likelihoods = self._reader.likelihoods(message)
        if likelihoods is not None:
            talk.told = True
            self.exchange.add_likelihoods(name, likelihoods)
        if self._reader.compares and draft.log_h is not None and not talk.told:
            return Effects()  # what told them was lost: it would be weighed otherwise than the others
        talk.drafts += 1
        self.exchange.add_draft(name, draft)
        return self.advance()

    def advance(self) -> Effects:
        """Confirm what can be confirmed now, for instance after a change of who takes part."""
        return Effects(confirmed=self.exchange.advance())

    def sources(self, message: Sources) -> PeerSources | None:
        """Return what a member reports of its passages; None where it has other tokens. Raises BadMessage."""
        return peer_sources(message, self.exchange.confirmed)
