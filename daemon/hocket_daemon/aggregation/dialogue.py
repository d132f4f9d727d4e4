"""The dialogue of one side with the others in a session: bus messages in, bus messages and confirmed tokens out.

Wraps the exchange with epochs (R6), Sync (R3) and the asked device's Targets (R4). Each other party has an epoch of its
own, which begins with every opening. Pure: no sockets, no models, no clocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hocket_bus import messages as wire
from hocket_bus.errors import BadRequest
from hocket_bus.messages import Aggregated, Begin, Passage, Side, Sources, Sync, Target

from ..engine.sampling import distribution as codec
from ..engine.sampling.drawing import Rule
from ..engine.sampling.heads import Probabilities
from ..privacy.history import CLOUD
from ..serving.records.sources import Lacks, PeerSources, peer_sources, sources_message
from ..serving.stream.targets import targets_of
from .exchange.exchange import Exchange
from .exchange.parties import LEADER
from .exchange.schedule import Scheduler
from .exchange.session_terms import Confirmed, Draft, Judges, Law, SessionTerms, tokens_of
from .steering import Guard
from .weights import likelihood_ratio as ratio
from .weights.relevance import BY_LIKELIHOOD, REWEIGHED, claims

PeerMessage = wire.Draft | Target | Aggregated | Sync


@dataclass(slots=True)
class Effects:
    """The effects of an event: tokens confirmed, and messages, each with its recipient, in the order to send them."""

    confirmed: list[Confirmed] = field(default_factory=list)
    send: list[tuple[str, wire.Message]] = field(default_factory=list)


class DraftMessages:
    """The drafts and targets of one session as they travel: what a party may say is checked before anything uses it."""

    def __init__(self, begin: Begin, vocabulary: int) -> None:
        """Prepare; `vocabulary` is the number of the model's tokens."""
        self.compares = begin.weights in BY_LIKELIHOOD and begin.unit == "token"  # unlike models' cannot be compared
        self._claims = claims(begin.weights, begin.documents, begin.relevance_temperature)
        self.targets = targets_of(begin.unit, vocabulary)

    def draft(self, message: wire.Draft) -> Draft:
        """Read a draft. Raises BadMessage for a broken law, BadRequest for what no model or scorer gives."""
        token, law = self._law(message)
        if message.log_h is not None and not self._claims[0] <= message.log_h <= self._claims[1]:
            raise BadRequest(
                "the other side sent a relevance score out of range", "install the same hocket on both ends"
            )
        return Draft(message.step, message.prefix, token, law, message.log_h, message.decode_s)

    def payload(self, draft: Draft) -> tuple[int, bytes]:
        """Return the token and the payload of a draft."""
        return draft.token, codec.encode(tokens_of(draft.distribution))

    def likelihoods(self, message: wire.Draft) -> list[int] | None:
        """Read the likelihoods of the question's tokens, where the draft has them. Raises BadMessage."""
        return None if message.likelihoods is None else ratio.decode(message.likelihoods)

    def _law(self, message: wire.Draft) -> tuple[int, Law]:
        distribution = codec.decode(message.payload)
        self.targets.check([message.token, int(distribution.ids[-1])])
        return message.token, distribution


@dataclass(slots=True)
class _Talk:
    """The dialogue with one other party."""

    epoch: int
    drafts: int = 0  # that it has sent
    asked: bool = False  # cloud: out of step, and waiting for the device's target
    sent_likelihoods: bool = False  # of the own passages, with a draft


class Dialogue:
    """The state that one side keeps of its dialogue with all others."""

    exchange_type: ClassVar[type[Exchange]] = Exchange
    messages_type: ClassVar[type[DraftMessages]] = DraftMessages
    ends_with: ClassVar[frozenset[int]] = frozenset()  # steps that end an answer which may end; none: the model's EOS

    def __init__(
        self,
        side: Side,
        begin: Begin,
        scheduler: Callable[[], Scheduler] = Scheduler,
        *,
        judges: Judges = "both",
        shares_drafts: bool = True,
        guard: Guard = "off",
        most_say: float = 1.0,
        vocabulary: int = codec.VOCABULARY_LIMIT,
    ) -> None:
        """Begin; without `shares_drafts` the device's drafts stay there: it aggregates alone and sends targets only.

        Where `both` judge, the other side takes part from the beginning, and again as soon as it answers a new epoch.
        Where the `leader` judges, nobody takes part but who is opened and set present, and no drafts are shared.
        `guard` says what it does where another party steers the answer. `vocabulary` is the number of the model's
        tokens.
        """
        sampling = begin.sampling
        terms = SessionTerms(
            begin.session,
            Rule(sampling.seed, sampling.temperature, sampling.top_p),
            begin.method,
            self.ends_with if self.ends_with and begin.eos else frozenset(begin.eos),
            sampling.max_tokens,
            scheduler,
            shares_drafts and judges == "both",
            guard,
            sampling.logprobs,
            judges,
            most_say,
            begin.reweigh_every if begin.weights in REWEIGHED else None,
            begin.unit == "word" and sampling.temperature > 0,
            begin.unit == "token" and bool(sampling.grammar),
        )
        self.exchange = self.exchange_type(side, terms)
        self._side = side
        self._own, self._peer = (LEADER, CLOUD) if side == "device" else (CLOUD, LEADER)
        self._session = begin.session
        self._judges = judges
        self._messages = self.messages_type(begin, vocabulary)
        self._talks = {self._peer: _Talk(begin.epoch)} if judges == "both" else {}

    @property
    def epoch(self) -> int:
        """The epoch of a session of two."""
        return self.epoch_of(self._peer)

    @property
    def remote_drafts(self) -> int:
        """The number of drafts that others have sent."""
        return sum(talk.drafts for talk in self._talks.values())

    def epoch_of(self, name: str) -> int:
        """Return a party's epoch."""
        return self._talks[name].epoch

    def drafts_of(self, name: str) -> int:
        """Return the number of drafts that have come from one party."""
        talk = self._talks.get(name)
        return talk.drafts if talk is not None else 0

    def is_current(self, name: str, message: PeerMessage) -> bool:
        """Tell whether a message is of the party's current epoch."""
        return name in self._talks and message.epoch == self._talks[name].epoch

    def open(self, name: str) -> list[wire.Message]:
        """Begin a party's next epoch; return what to send after its opening, so that it has the answer so far."""
        talk = self._talks.get(name)
        self._talks[name] = _Talk(0) if talk is None else _Talk(talk.epoch + 1, talk.drafts)
        self.exchange.parties.forget(name)
        begins = talk is None and not len(self.exchange.confirmed)
        return [] if begins else [self._sync(name), self.target(name, 0)]

    def rejoin(self) -> Effects:
        """Open a new epoch with a cloud that is back; its Sync ends the solo steps (R6)."""
        name = self._peer
        self._begin_epoch(name, self.epoch + 1, len(self.exchange.confirmed))
        return Effects(send=[(name, self._sync(name)), (name, self.target(name, 0))])

    def go_alone(self) -> Effects:
        """Draw from the device's own distribution, as the cloud is silent, until it answers `rejoin` (R6)."""
        self.exchange.go_alone(True)
        return self.advance()

    def set_present(self, names: Iterable[str]) -> Effects:
        """Set who takes part from the next step on, and confirm what can be confirmed with them."""
        self.exchange.parties.set_present(names)
        return self.advance()

    def add_likelihoods(self, logs: NDArray[np.float64]) -> None:
        """Add how likely this side's passages make the question's tokens, [tokens], before the first own draft."""
        if self._messages.compares:
            self.exchange.parties.add_likelihoods(self._own, ratio.steps_of(logs))

    def own(
        self,
        step: int,
        prefix: int,
        law: Law,
        log_h: float | None,
        decode_s: float,
        *,
        parts: Probabilities | None = None,
    ) -> Effects:
        """Take the own law of `step` after `prefix`; nothing follows when that no longer holds.

        `parts` is what each row gives to it, [rows, ids].
        """
        own = self.exchange.add_own(step, prefix, law, log_h, decode_s, parts=parts)
        if own is None:
            return Effects()
        sends = self.exchange.sends_drafts and not self.exchange.solo
        return self._advance(Effects(send=[(self._peer, self._message(own))] if sends else []))

    def receive(self, message: PeerMessage, name: str | None = None) -> Effects:
        """Take a message of another party; None: the other side of a session of two.

        Raises BadMessage for a distribution that cannot be read, BadRequest for a token that the model does not have
        and for a log h that no scorer gives.
        """
        name = self._peer if name is None else name
        if isinstance(message, Sync) and self._side == "cloud" and message.epoch > self.epoch:
            self._begin_epoch(name, message.epoch, message.confirmed)
        effects = Effects()
        if not self.is_current(name, message):
            return effects
        if isinstance(message, Sync):
            self._answer(name, message, effects)
        else:
            self._take(name, message)
        return self._advance(effects)

    def advance(self) -> Effects:
        """Confirm what can be confirmed now, for instance after a change of who takes part."""
        return self._advance(Effects())

    def unconfirmed_drafts(self) -> list[tuple[str, wire.Message]]:
        """Return own drafts that are not confirmed, for a cloud that joins late."""
        return self._drafts_from(self._peer, len(self.exchange.confirmed))

    def shared(self, length: int) -> bool:
        """Tell whether anybody else has a part in any of the first `length` tokens."""
        return any(trace.part < 1.0 for trace in self.exchange.traces[:length])

    def rest(self, name: str, length: int) -> list[wire.Message]:
        """Return a Target with those of the first `length` tokens that a party may not have, if any."""
        first = min(length, self.exchange.settled(name))
        return [self.target(name, first, length)] if first < length else []

    def target(self, name: str, first: int, end: int | None = None) -> Target:
        """Return a Target for a party: the tokens from `first` on, up to `end`, or to the last."""
        confirmed = self.exchange.confirmed
        length = len(confirmed) if end is None else end
        ids, words = self._messages.targets.pack(confirmed.ids[first:length])
        return Target(
            session=self._session,
            epoch=self.epoch_of(name),
            first=first,
            ids=ids,
            digest=confirmed.at(length),
            words=words,
        )

    def sources(self, passages: list[Passage], length: int, lacks: Lacks, *, side: Side) -> Sources:
        """Return the sources within this side of the first `length` tokens, as far as they are confirmed here."""
        confirmed = self.exchange.confirmed
        traces = self.exchange.traces[: min(length, len(confirmed))]
        return sources_message(self._session, confirmed, passages, traces, lacks, side=side)

    def peer_sources(self, message: Sources) -> PeerSources | None:
        """Return what a party reports of its passages; None where it has other tokens. Raises BadMessage."""
        return peer_sources(message, self.exchange.confirmed)

    def _begin_epoch(self, name: str, epoch: int, confirmed: int) -> None:  # noqa: ARG002 - Algorithm 1 needs it
        """Begin an epoch with a party that may have begun anew; the device has confirmed the first `confirmed`."""
        self._talks[name] = _Talk(epoch, self._talks[name].drafts)
        self.exchange.parties.forget_likelihoods(name)

    def _answer(self, name: str, sync: Sync, effects: Effects) -> None:
        if self._side == "cloud":
            effects.send.append((name, self._sync(name)))
        else:
            if self._judges == "both":
                self.exchange.go_alone(False)
            effects.send.append((name, self.target(name, 0)))
        effects.send += self._drafts_from(name, sync.confirmed)

    def _take(self, name: str, message: wire.Draft | Target | Aggregated) -> None:
        """Take a message that may decide tokens."""
        if isinstance(message, Target) and self._side == "cloud":
            steps = self._messages.targets.unpack(message)
            self._talks[name].asked = False
            self.exchange.add_target(message.first, steps, message.digest)
        elif isinstance(message, wire.Draft) and (self._judges == "leader" or not self.exchange.solo):
            self._take_draft(name, message)

    def _take_draft(self, name: str, message: wire.Draft) -> None:
        parties = self.exchange.parties
        draft, likelihoods = self._messages.draft(message), self._messages.likelihoods(message)
        if likelihoods is not None and self._messages.compares:
            parties.add_likelihoods(name, likelihoods)
        if self._messages.compares and draft.log_h is not None and name not in parties.likelihoods:
            return  # what told them was lost: without them this side would judge otherwise than the other one
        self.exchange.add_draft(name, draft, message.confirmed, message.digest)
        self._talks[name].drafts += 1

    def _drafts_from(self, name: str, from_step: int) -> list[tuple[str, wire.Message]]:
        """Return own drafts from a step on, for a party that may have received none before."""
        self._talks[name].sent_likelihoods = False
        drafts = self.exchange.drafts_from(from_step) if self.exchange.sends_drafts else []
        return [(name, self._message(own)) for own in drafts]

    def _advance(self, effects: Effects) -> Effects:
        first = len(self.exchange.confirmed)
        effects.confirmed = self.exchange.advance()
        effects.send += self._news(first, effects.confirmed)
        if self.exchange.parties.steers:
            effects.send = [each for each in effects.send if not isinstance(each[1], wire.Draft)]
        return effects

    def _news(self, first: int, confirmed: Sequence[Confirmed]) -> list[tuple[str, wire.Message]]:
        """Return what the others are to know of tokens that were confirmed from `first` on."""
        if self._side == "device":
            tells = confirmed and self._gives_targets()
            return [(name, self.target(name, first)) for name in self._talks] if tells else []
        talk = self._talks[self._peer]
        if not self.exchange.out_of_step or talk.asked:
            return []
        talk.asked = True
        return [(self._peer, self._sync(self._peer))]

    def _gives_targets(self) -> bool:
        """Tell whether to send a Target: a cloud with both drafts needs none; the next digest checks it (R4)."""
        shared = self.exchange.sends_drafts and not self.exchange.solo
        return not shared or self.exchange.next_step() is None

    def _message(self, own: Draft) -> wire.Draft:
        talk = self._talks[self._peer]
        likelihoods = None if talk.sent_likelihoods else self.exchange.parties.likelihoods.get(self._own)
        talk.sent_likelihoods = True
        token, payload = self._messages.payload(own)
        return wire.Draft(
            session=self._session,
            epoch=talk.epoch,
            step=own.step,
            prefix=own.prefix,
            confirmed=len(self.exchange.confirmed),
            digest=self.exchange.confirmed.digest,
            token=token,
            log_h=own.log_h,
            decode_s=own.decode_s,
            payload=payload,
            likelihoods=None if likelihoods is None else ratio.encode(likelihoods),
        )

    def _sync(self, name: str) -> Sync:
        confirmed = self.exchange.confirmed
        return Sync(session=self._session, epoch=self.epoch_of(name), confirmed=len(confirmed), digest=confirmed.digest)
