"""The dialogue of one side with the other in a session: bus messages in, bus messages and confirmed tokens out.

Wraps the exchange with epochs (R6), Sync (R3) and the device's Targets (R4). Pure: no sockets, no models, no clocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hocket_bus import messages as wire
from hocket_bus.errors import BadRequest
from hocket_bus.messages import Aggregated, Begin, Passage, Side, Sources, Sync, Target

from ..engine.sampling import distribution as codec
from ..engine.sampling.distribution import Distribution
from ..engine.sampling.drawing import Rule
from ..engine.sampling.heads import Probabilities
from ..serving.records.sources import Lacks, PeerSources, peer_sources, sources_message
from .exchange.exchange import Confirmed, Draft, Exchange, SessionTerms, Verdict
from .exchange.schedule import Scheduler, other
from .paper.aggregator import AggregatorExchange
from .steering import Guard
from .weights import likelihood_ratio as ratio
from .weights.relevance import BY_LIKELIHOOD, claims

PeerMessage = wire.Draft | Target | Aggregated | Sync


@dataclass(slots=True)
class Effects:
    """The effects of an event: tokens confirmed, and messages for the other side in the order to send them."""

    confirmed: list[Confirmed] = field(default_factory=list)
    send: list[wire.Message] = field(default_factory=list)


class DraftReader:
    """A reader of the drafts of one session."""

    def __init__(self, begin: Begin, vocabulary: int) -> None:
        """Create the reader; `vocabulary` is the number of the model's tokens."""
        self.compares = begin.weights in BY_LIKELIHOOD
        self._claims = claims(begin.weights, begin.documents, begin.relevance_temperature)
        self._vocabulary = vocabulary

    def draft(self, message: wire.Draft) -> Draft:
        """Read a draft. Raises BadMessage for a broken distribution, BadRequest for what no model or scorer gives."""
        distribution = codec.decode(message.payload)
        self.check([message.token, int(distribution.ids[-1])])
        if message.log_h is not None and not self._claims[0] <= message.log_h <= self._claims[1]:
            raise BadRequest("the other side sent a relevance score out of range", "install one version on both sides")
        return Draft(message.step, message.prefix, message.token, distribution, message.log_h, message.decode_s)

    def likelihoods(self, message: wire.Draft) -> list[int] | None:
        """Read the likelihoods of the question's tokens, where the draft has them. Raises BadMessage."""
        return None if message.likelihoods is None else ratio.decode(message.likelihoods)

    def check(self, tokens: Sequence[int]) -> None:
        """Raise BadRequest for a token that the model does not have."""
        if max(tokens, default=0) >= self._vocabulary:
            raise BadRequest("the other side sent a token that this model does not have", "use models of one family")


class Dialogue:
    """The state that one side keeps of its dialogue."""

    def __init__(
        self,
        side: Side,
        begin: Begin,
        scheduler: Callable[[], Scheduler] = Scheduler,
        *,
        shares_drafts: bool = True,
        guard: Guard = "off",
        vocabulary: int = codec.VOCABULARY_LIMIT,
    ) -> None:
        """Begin; without `shares_drafts` the device's drafts stay there: it aggregates alone and sends targets only.

        `guard` says what it does where the other side steers the answer. `vocabulary` is the number of the model's
        tokens.
        """
        sampling = begin.sampling
        rule = Rule(sampling.seed, sampling.temperature, sampling.top_p)
        kind = AggregatorExchange if begin.method == "independent" else Exchange
        eos, room = frozenset(begin.eos), sampling.max_tokens
        terms = SessionTerms(
            begin.session, rule, begin.method, eos, room, scheduler, shares_drafts, guard, sampling.logprobs
        )
        self.exchange: Exchange = kind(side, terms)
        self.epoch = begin.epoch
        self._asked = False  # cloud: out of step, and waiting for the device's word
        self.remote_drafts = 0
        self._side = side
        self._session = begin.session
        self._reader = DraftReader(begin, vocabulary)
        self._likelihoods: dict[Side, list[int]] = {}  # of the question's tokens, as each side's passages make them
        self._sent_likelihood = False  # with a draft, of the own ones

    def add_likelihoods(self, logs: NDArray[np.float64]) -> None:
        """Add how likely this side's passages make the question's tokens, [tokens], before the first own draft."""
        self._compare(self._side, ratio.steps_of(logs))

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
        """Take the own distribution of `step` after `prefix`; nothing follows when that no longer holds.

        `parts` is what each row gives to it, [rows, ids].
        """
        own = self.exchange.add_own(step, prefix, distribution, log_h, decode_s, parts=parts)
        if own is None:
            return Effects()
        effects = Effects()
        if self.exchange.sends_drafts and not self.exchange.solo:
            effects.send.append(self._message(own))
        return self._advance(effects)

    def receive(self, message: PeerMessage) -> Effects:
        """Take a message of the other side.

        Raises BadMessage for a distribution that cannot be read, BadRequest for a token that the model does not have
        and for a log h that no scorer gives.
        """
        effects = Effects()
        if isinstance(message, Sync) and self._side == "cloud" and message.epoch > self.epoch:
            self._begin_epoch(message.epoch, message.confirmed)
        if message.epoch != self.epoch:
            return effects
        if isinstance(message, Sync):
            self._answer(message, effects)
        elif isinstance(message, Target):
            if self._side == "cloud":
                self._reader.check(message.ids)
                self._asked = False
                self.exchange.add_target(message.first, message.ids, message.digest)
        elif isinstance(message, Aggregated):
            self._reader.check([message.token])
            self.exchange.add_verdict(_verdict(message))
        elif not self.exchange.solo:
            self._take_draft(message)
        return self._advance(effects)

    def go_alone(self) -> Effects:
        """Draw from the device's own distribution, as the cloud is silent, until it answers `rejoin` (R6)."""
        self.exchange.go_alone(True)
        return self._advance(Effects())

    def rejoin(self) -> Effects:
        """Open a new epoch with a cloud that is back; its Sync ends the solo steps (R6)."""
        self._begin_epoch(self.epoch + 1, len(self.exchange.confirmed))
        return Effects(send=[self._sync(), self._target(0)])

    def unconfirmed_drafts(self) -> list[wire.Message]:
        """Return own drafts that are not confirmed, for a cloud that joins late."""
        return self._drafts_from(len(self.exchange.confirmed))

    def shared(self, length: int) -> bool:
        """Tell whether the other side has a part in any of the first `length` tokens."""
        return any(trace.part < 1.0 for trace in self.exchange.traces[:length])

    def rest(self, length: int) -> list[wire.Message]:
        """Return a Target with those of the first `length` tokens that the other side may not have, if any."""
        exchange = self.exchange
        first = min(length, exchange.settled)
        ids, digest = exchange.confirmed.ids[first:length], exchange.confirmed.at(length)
        return [Target(session=self._session, epoch=self.epoch, first=first, ids=ids, digest=digest)] if ids else []

    def sources(self, passages: list[Passage], length: int, lacks: Lacks, *, side: Side) -> Sources:
        """Return the sources within this side of the first `length` tokens, as far as they are confirmed here."""
        confirmed = self.exchange.confirmed
        traces = self.exchange.traces[: min(length, len(confirmed))]
        return sources_message(self._session, confirmed, passages, traces, lacks, side=side)

    def peer_sources(self, message: Sources) -> PeerSources | None:
        """Return what the other side reports of its passages; None where it has other tokens. Raises BadMessage."""
        return peer_sources(message, self.exchange.confirmed)

    def _begin_epoch(self, epoch: int, confirmed: int) -> None:
        self.epoch, self._asked, self._sent_likelihood = epoch, False, False
        self._likelihoods.pop(other(self._side), None)  # it may have begun anew
        self.exchange.begin_epoch(confirmed)

    def _answer(self, sync: Sync, effects: Effects) -> None:
        if self._side == "device":
            self.exchange.go_alone(False)
            effects.send.append(self._target(0))
        else:
            effects.send.append(self._sync())
        effects.send += self._drafts_from(sync.confirmed)

    def _drafts_from(self, from_step: int) -> list[wire.Message]:
        """Return own drafts from a step on, for a side that may have received none before."""
        self._sent_likelihood = False
        drafts = self.exchange.drafts_from(from_step) if self.exchange.sends_drafts else []
        return [self._message(own) for own in drafts]

    def _advance(self, effects: Effects) -> Effects:
        first = len(self.exchange.confirmed)
        effects.confirmed = self.exchange.advance()
        if self.exchange.announces and not self.exchange.solo:
            effects.send += [self._aggregated(verdict) for verdict in self.exchange.take_verdicts()]
        elif self._side == "device" and effects.confirmed and self._gives_word():
            effects.send.append(self._target(first))
        elif self._side == "cloud" and self.exchange.out_of_step and not self._asked:
            self._asked = True
            effects.send.append(self._sync())
        if self.exchange.steered:
            effects.send = [message for message in effects.send if not isinstance(message, wire.Draft)]
        return effects

    def _gives_word(self) -> bool:
        """Tell whether to send a Target: a cloud with both drafts needs none; the next digest checks it (R4)."""
        shared = self.exchange.sends_drafts and not self.exchange.solo
        return not shared or self.exchange.next_step() is None

    def _take_draft(self, message: wire.Draft) -> None:
        draft, likelihoods = self._reader.draft(message), self._reader.likelihoods(message)
        if likelihoods is not None:
            self._compare(other(self._side), likelihoods)
        if self._reader.compares and draft.log_h is not None and other(self._side) not in self._likelihoods:
            return  # what told them was lost: without them this side would judge otherwise than the other one
        self.exchange.add_remote(draft, message.confirmed, message.digest)
        self.remote_drafts += 1

    def _compare(self, side: Side, likelihoods: list[int]) -> None:
        self._likelihoods[side] = likelihoods
        if self._reader.compares and len(self._likelihoods) == 2:
            self.exchange.likelihood_ratio = ratio.likelihood_ratio(
                self._likelihoods["device"], self._likelihoods["cloud"]
            )

    def _message(self, own: Draft) -> wire.Draft:
        likelihood, self._sent_likelihood = None if self._sent_likelihood else self._likelihoods.get(self._side), True
        return wire.Draft(
            session=self._session,
            epoch=self.epoch,
            step=own.step,
            prefix=own.prefix,
            confirmed=len(self.exchange.confirmed),
            digest=self.exchange.confirmed.digest,
            token=own.token,
            log_h=own.log_h,
            decode_s=own.decode_s,
            payload=codec.encode(own.distribution),
            likelihoods=None if likelihood is None else ratio.encode(likelihood),
        )

    def _aggregated(self, verdict: Verdict) -> Aggregated:
        return Aggregated(
            session=self._session,
            epoch=self.epoch,
            step=verdict.step,
            prefix=verdict.prefix,
            token=verdict.token,
            accepted_device=verdict.accepted_device,
            accepted_cloud=verdict.accepted_cloud,
            aggregator=verdict.aggregator,
        )

    def _target(self, first: int) -> Target:
        confirmed = self.exchange.confirmed
        return Target(
            session=self._session, epoch=self.epoch, first=first, ids=confirmed.ids[first:], digest=confirmed.digest
        )

    def _sync(self) -> Sync:
        confirmed = self.exchange.confirmed
        return Sync(session=self._session, epoch=self.epoch, confirmed=len(confirmed), digest=confirmed.digest)


def _verdict(message: Aggregated) -> Verdict:
    return Verdict(
        message.step,
        message.prefix,
        message.token,
        message.accepted_device,
        message.accepted_cloud,
        message.aggregator,
    )
